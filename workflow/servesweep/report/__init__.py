"""Tables, charts and one self-contained page from the result files of a sweep; knows no runtime."""
