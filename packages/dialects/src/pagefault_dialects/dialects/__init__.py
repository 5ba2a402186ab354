"""Dialects, a module for each: which objects it puts around results of tools.

`registry` has all of them in order, `envelope` the tables that a module is made of, `shapes` how an
object is recognised.
"""
