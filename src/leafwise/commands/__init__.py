"""The commands: one module each, with `main(arguments) -> int`; its first docstring line is its line of help."""
