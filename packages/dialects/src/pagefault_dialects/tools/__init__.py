"""The memory's tools: their definitions for a model, and its calls of them.

tool_catalogue    the definitions; loads no schema library
tool_arguments    arguments of a call, and their errors
"""
