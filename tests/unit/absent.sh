#!/bin/sh
echo "CUnit (libcunit1-dev) was missing at configure time, or this is a fuzzer build: no unit test runs"
exit 77
