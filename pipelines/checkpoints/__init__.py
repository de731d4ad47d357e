"""Checkpoints: what is in them, and whether a restore would work.

A format a module (`safetensors`, `distributed`, `zipped`, `arrays`, `documents`): each reads a file
of it as `Contents`, in bounded memory. Nothing is unpickled as the program that wrote it would:
`pickles` builds plain nodes, and neither imports nor calls what a pickle names. `prove` puts it
together; a file that is not what it should be is a verdict, never a crash.
"""
