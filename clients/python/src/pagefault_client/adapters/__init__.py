"""Adapters for what runs agents, each a module that needs the package it is named after.

Each stores what a tool returns, under the id of the model's call, and hands on what the model
should see of it. They take an `AsyncSession`: `AsyncPagefault().session("demo")`.
"""
