"""Pre-signed URLs that say how the store has to answer.

obstore signs a URL, but takes no parameters into the signature. What it signed is taken apart here,
gets the parameters, and is signed again in the same way: same host, path, key, date and duration.

Source: AWS, "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)"; S3's
GetObject, `response-content-type` and `response-content-disposition`.
"""

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlsplit

_SIGNATURE = "X-Amz-Signature"


def link_with(signed_url: str, parameters: Mapping[str, str], secret: str) -> str:
    """A pre-signed URL for GET, with further parameters that its signature covers.

    Args:
        signed_url: Signed with version 4 for GET, with no header but `host`.
        parameters: What to add, by name.
        secret: The secret of the key that the URL names.
    """
    url = urlsplit(signed_url)
    asked = dict(parse_qsl(url.query, keep_blank_values=True))
    asked.pop(_SIGNATURE, None)
    asked |= parameters
    query = "&".join(f"{_encoded(name)}={_encoded(asked[name])}" for name in sorted(asked))
    request = f"GET\n{url.path}\n{query}\nhost:{url.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    _, _, scope = asked["X-Amz-Credential"].partition("/")
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{asked['X-Amz-Date']}\n{scope}\n{digest}"
    signature = _mac(_signing_key(secret, scope), text).hex()
    return f"{url.scheme}://{url.netloc}{url.path}?{query}&{_SIGNATURE}={signature}"


def _signing_key(secret: str, scope: str) -> bytes:
    """The key for a scope `<date>/<region>/s3/aws4_request`: each part is signed by the last."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    return key


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")
