package textutil_test

import (
	"testing"

	"holdfast/engine/textutil"
)

// TestNormalizeAddress: two spellings of one name or address are alike, and other texts stay apart.
func TestNormalizeAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"etcd-1":               "etcd-1",
		"ETCD-1.Example.com.":  "etcd-1.example.com",
		"fd00::01":             "fd00::1",
		"FD00:0:0::1":          "fd00::1",
		"::ffff:10.0.0.1":      "10.0.0.1",
		"fe80::01%eth0":        "fe80::1%eth0",
		"10.0.0.010":           "10.0.0.010",
		"[fd00::1]":            "[fd00::1]",
		"fd00::1.example.com.": "fd00::1.example.com",
	} {
		if got := textutil.NormalizeAddress(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
