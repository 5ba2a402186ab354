"""Rendered memory pages: levels, blocks, typed content, detail view, manifest.

Everything follows from a page's descriptor and bodies. Media are neither read nor made here: the
caller supplies the address or the base64 of the one attached image.
"""
