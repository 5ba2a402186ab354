"""The tools by which a model uses its memory.

tool_catalogue    definitions of the tools; imports no pydantic
tool_arguments    reads the arguments of a call, and describes their errors
"""
