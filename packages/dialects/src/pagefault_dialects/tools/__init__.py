"""The tools of the memory: their definitions for a model, and its calls of them, read.

tool_catalogue    the definitions; loads no schema library
tool_arguments    arguments of a call, as an object or as JSON text
argument_words    what is wrong with arguments, for a model
"""
