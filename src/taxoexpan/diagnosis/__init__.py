"""The diagnosis of an installation: packages, extras, encoders, devices, folders and memory.

It works in a broken installation: nothing but the standard library is imported in this process.
"""
