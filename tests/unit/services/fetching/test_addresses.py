"""Which addresses are the public internet's, whatever they are wrapped in."""

from ipaddress import ip_address

import pytest

from app.services.fetching.targets import is_public

PUBLIC = """
    1.1.1.1 8.8.8.8 9.9.9.9 93.184.216.34 100.63.255.255 100.128.0.1 11.0.0.1 126.255.255.254
    128.0.0.1 169.253.255.255 169.255.0.1 168.63.129.15 168.63.129.17 172.15.255.255 172.32.0.1
    191.255.255.255 192.0.1.1 192.0.3.1 192.88.98.255 192.88.100.1 192.167.255.255 192.169.0.1
    198.17.255.255 198.20.0.1 198.51.99.255 203.0.112.255 203.0.114.1 223.255.255.255
    2606:4700:4700::1111 2001:4860:4860::8888 2620:fe::fe 2a00:1450:4001:81b::200e
    2001:200::1 2400:cb00::1 2c0f:f248::1 2001:db7:ffff::1 2003::1
    ::ffff:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b::101:101 2002:808:808::1
"""

NOT_PUBLIC = """
    0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.100.100.200
    100.127.255.255 127.0.0.0 127.0.0.1 127.1.2.3 127.255.255.255 168.63.129.16 169.254.0.1
    169.254.169.254 169.254.170.2 172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9
    192.0.0.170 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0 192.168.1.1 192.168.255.255
    198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 224.0.0.251 233.252.0.1
    239.255.255.250 240.0.0.1 255.255.255.254 255.255.255.255
    :: ::1 ::2 ::7f00:1 ::127.0.0.1 ::169.254.169.254 ::8.8.8.8 ::10.0.0.1
    ::ffff:0.0.0.0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:192.168.1.1
    ::ffff:100.64.0.1 ::ffff:168.63.129.16 ::ffff:224.0.0.1 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
    64:ff9b::a9fe:a9fe 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::192.88.99.1 64:ff9b::e000:1
    64:ff9b:1::1 64:ff9b:1::8.8.8.8 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:2::1
    100::1 100:0:0:1::1 200::1 400::1 1fff:ffff::1
    2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:0:a9fe:a9fe::1 2001:2::1 2001:3::1
    2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1
    2002:a9fe:a9fe:: 2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101::1 2002:e000:1::1 2002::1
    3ffe::1 3fff::1 3fff:fff::1 4000::1 5f00::1 8000::1 f000::1
    fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff::1 fe00::1 fe80::1 fe80::a9fe:a9fe
    febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff05::1:3 ff0e::1
    fe80::1%eth0 2606:4700:4700::1111%eth0 ::ffff:8.8.8.8%1
"""


@pytest.mark.promise(
    "security.md#the-inner-network",
    "An address of the public internet is not refused",
    kept_by="app/services/fetching/targets.py",
    tried="41 addresses, 0 wrong",
)
@pytest.mark.parametrize("address", PUBLIC.split())
def test_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.promise(
    "security.md#the-inner-network",
    "An address outside the public internet is recognised, also inside another notation",
    kept_by="app/services/fetching/targets.py",
    tried="113 addresses, 0 wrong",
)
@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_special_address_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
