"""Memory pages as they are shown: levels, blocks, typed content, detail view, manifest.

Pure: everything follows from a page's descriptor and bodies. Media are neither read nor made here;
whoever calls hands in the address or the base64 of the one picture that is to be attached.
"""
