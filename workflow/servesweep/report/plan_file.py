"""`plan.json` as a reader sees it: what the report needs of it, everything else ignored."""

from typing import Any

from pydantic import Field, field_validator

from servesweep.report.files import Evidence


class Topology(Evidence):
    """Nodes, workers and GPUs of a deployment."""

    total_nodes: int | None = Field(None, description="nodes of the allocation")
    num_prefill: int = Field(0, description="prefill workers")
    num_decode: int = Field(0, description="decode workers")
    num_agg: int = Field(0, description="aggregated workers")
    prefill_gpus: int | None = Field(None, description="GPUs of all prefill workers together")
    decode_gpus: int | None = Field(None, description="GPUs of all decode workers together")
    agg_gpus: int | None = Field(None, description="GPUs of all aggregated workers together")
    total_gpus: int | None = Field(None, description="GPUs of all workers together")
    gpus_per_node: int | None = Field(None, description="GPUs of a node")

    @property
    def allocated_gpus(self) -> int | None:
        """GPUs that the job holds, whether workers use them or not."""
        known = self.total_nodes is not None and self.gpus_per_node is not None
        return self.total_nodes * self.gpus_per_node if known else None  # type: ignore[operator]


class PlanNode(Evidence):
    """One symbolic node and what it holds."""

    name: str = Field(description="symbolic name, n0, n1, …")
    holds: list[str] = Field(default_factory=list, description="roles and workers placed on it")


class PlanPoint(Evidence):
    """One load level that the plan asks for."""

    id: str = Field(description="file-name safe id, unique in its configuration", min_length=1)
    concurrency: int | None = Field(None, description="requests in flight")
    request_rate: float | str | None = Field(None, description="requests per second, or 'inf'")
    repeat: int | None = Field(None, description="number of the repetition, from 0")
    isl: int | None = Field(None, description="input tokens asked for, where the plan says it")
    osl: int | None = Field(None, description="output tokens asked for, where the plan says it")
    digest: str = Field("", description="identity of the measurement")

    @field_validator("id")
    @classmethod
    def _is_one_file_name(cls, value: str) -> str:
        if "/" in value or value in {".", ".."}:
            raise ValueError("a point id is a single file name")
        return value


class PlanCommand(Evidence):
    """What a step starts."""

    argv: list[str] = Field(default_factory=list, description="the words of the command line")


class PlanStep(Evidence):
    """One process of the deployment."""

    mode: str | None = Field(None, description="role of a worker")
    command: PlanCommand = Field(default_factory=PlanCommand, description="what is started")


class PlanProcess(Evidence):
    """One process of a worker and the GPUs of its node."""

    mode: str = Field("", description="role")
    index: int = Field(0, description="number of the worker in its role")
    node: str = Field("", description="symbolic node")
    gpus: list[int] = Field(default_factory=list, description="GPUs of the node that it has")


class PlanDeployment(Evidence):
    """The facts that commands were rendered from."""

    processes: list[PlanProcess] = Field(default_factory=list, description="the processes of all workers")


class ClusterFacts(Evidence):
    """What the report takes of the cluster file that was planned with."""

    cluster: str = Field("", description="name of the cluster")
    gpu_hour_price: dict[str, float] = Field(
        default_factory=dict, description="GPU model to dollars for an hour of one"
    )


class Plan(Evidence):
    """`plan.json`: what a configuration resolves to."""

    name: str = Field("", description="the recipe's name")
    recipe: str = Field("", description="path of the recipe file")
    variant: str | None = Field(None, description="which variant of the recipe")
    digest: str = Field("", description="identity of the configuration")
    served_model: str = Field("", description="model name that clients ask for")
    engine: str = Field("", description="engine, or one per role joined by +")
    frontend: str = Field("", description="what routes the requests")
    launcher: str = Field("", description="slurm or local")
    gpu_type: str | None = Field(None, description="kind of GPU")
    topology: Topology = Field(default_factory=Topology, description="nodes, workers, GPUs")
    nodes: list[PlanNode] = Field(default_factory=list, description="the node map")
    points: list[PlanPoint] = Field(default_factory=list, description="the load levels, in order")
    notes: list[str] = Field(default_factory=list, description="what the planner wants a person to know")
    steps: list[PlanStep] = Field(default_factory=list, description="the processes")
    deployment: PlanDeployment = Field(default_factory=PlanDeployment, description="where workers stand")
    cluster: ClusterFacts = Field(default_factory=ClusterFacts, description="the cluster file")
    resolved: dict[str, Any] = Field(default_factory=dict, description="the resolved recipe")

    @property
    def precision(self) -> str | None:
        """Precision of the weights, as the recipe says it."""
        model = self.resolved.get("model")
        said = model.get("precision") if isinstance(model, dict) else None
        return said if isinstance(said, str) else None

    @property
    def benchmark_type(self) -> str:
        """Kind of benchmark, as the recipe says it."""
        benchmark = self.resolved.get("benchmark")
        said = benchmark.get("type") if isinstance(benchmark, dict) else None
        return said if isinstance(said, str) else "sa-bench"

    @property
    def image(self) -> str | None:
        """Container image of the model, as the recipe says it."""
        model = self.resolved.get("model")
        said = model.get("container") if isinstance(model, dict) else None
        return said if isinstance(said, str) else None

    def command_line(self, role: str) -> list[str]:
        """Words that start the first worker of a role; none where the plan does not tell them."""
        return next((step.command.argv for step in self.steps if step.mode == role), [])

    def arguments(self, role: str) -> dict[str, Any]:
        """Arguments of a role as the recipe gives them."""
        roles = self.resolved.get("roles")
        section = roles.get(role) if isinstance(roles, dict) else None
        args = section.get("args") if isinstance(section, dict) else None
        return args if isinstance(args, dict) else {}
