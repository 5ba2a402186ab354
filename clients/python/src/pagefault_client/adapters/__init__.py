"""Adapters for agent frameworks; each module needs the package that it is named after.

An adapter stores tool results under the id of the model's call, and returns their renderings to
the framework. It takes an `AsyncSession`: `AsyncPagefault().session("demo")`.
"""
