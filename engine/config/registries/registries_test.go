package registries

import (
	"slices"
	"strings"
	"testing"
)

// A registries.conf is accepted if containers/image accepts it.
func TestRegistries(t *testing.T) {
	const reg = "[[registry]]\nlocation = 'quay.io/a'\n"
	for _, tc := range []struct{ text, want string }{ // want is the problem; "" means none
		{"", ""},
		{reg + "prefix = 'x/y/'\nblocked = true\n[[registry.mirror]]\nlocation = 'm:5000/a/'\npull-from-mirror = 'digest-only'\ninsecure = true\n", ""},
		{"short-name-mode = 'permissive'\nunqualified-search-registries = ['a.io', 'localhost:5000/']\ncredential-helpers = ['x']\n[aliases]\nfedora = 'registry.example/fedora'\n'a/b' = ''\n", ""},
		{"[[registry]]\nprefix = '*.example.com'\n", ""},
		{"unknown = 1\n[other]\nx = 2\n", ""},
		{"[registries.search]\nregistries = ['a']\n[registries.block]\nregistries = ['b/c']\n", ""},
		{"registry = [{location = 'a', mirror = [{location = 'm'}]}]", ""},
		{"short-name-mode = 5", "short-name-mode (line 1 of the file) must be a string, in quotes"},
		{"\nshort-name-mode = 'no'", "short-name-mode (line 2 of the file) must be enforcing, permissive or disabled"},
		{reg + "insecure = \"no\"", "registry[0].insecure (line 3 of the file) must be true or false, without quotes"},
		{reg + reg + "Blocked = 1", "registry[1].blocked (line 5 of the file) must be true or false, without quotes"},
		{"[aliases]\na = 1", "aliases.a (line 2 of the file) must be a string, in quotes"},
		{"[aliases]\na = 'short/name'", "aliases.a (line 2 of the file) must be an image with its registry, without tag and digest"},
		{"[aliases]\na = 'quay.io/x:1'", "aliases.a (line 2 of the file) must be an image with its registry, without tag and digest"},
		{"[aliases]\n'quay.io/x' = 'quay.io/x'", "aliases.quay.io/x (line 2 of the file) is not a short name; write it without registry, tag and digest, in lower case"},
		{"[aliases]\nA = 'quay.io/x'", "aliases.A (line 2 of the file) is not a short name; write it without registry, tag and digest, in lower case"},
		{"unqualified-search-registries = 'a'", "unqualified-search-registries (line 1 of the file) must be a list of strings"},
		{"unqualified-search-registries = ['a', 'b/c']", "unqualified-search-registries[1] (line 1 of the file) is not a registry; write HOST or HOST:PORT"},
		{"unqualified-search-registries = ['https://a']", "unqualified-search-registries[0] (line 1 of the file) has a scheme; write it without http:// or https://"},
		{"credential-helpers = [1]", "credential-helpers[0] (line 1 of the file) must be a string, in quotes"},
		{"[[registry]]\nlocation = 'https://a'", "registry[0].location (line 2 of the file) has a scheme; write it without http:// or https://"},
		{"[[registry]]\nblocked = true", "registry[0] (line 1 of the file) has neither location nor prefix; add one"},
		{"[[registry]]\nprefix = 'a'", "registry[0] (line 1 of the file) has no location, and its prefix does not have the form *.example.com; add a location"},
		{"[[registry]]\nprefix = '*.a/b'\nlocation = 'c'", "registry[0] (line 1 of the file) begins with *. and has a path, a port or a digest; a wildcard stands before a domain only"},
		{reg + "pull-from-mirror = 'all'", "registry[0].pull-from-mirror (line 3 of the file) is for a mirror; put it into [[registry.mirror]]"},
		{reg + "[[registry.mirror]]\ninsecure = true", "registry[0].mirror[0] (line 3 of the file) has no location; give one"},
		{reg + "[[registry.mirror]]\nlocation = 'm'\n" + reg + "[[registry.mirror]]\nlocation = 'm'\npull-from-mirror = 'x'", "registry[1].mirror[0].pull-from-mirror (line 9 of the file) must be all, digest-only or tag-only"},
		{reg + "mirror-by-digest-only = true\n[[registry.mirror]]\nlocation = 'm'\npull-from-mirror = 'all'", "registry[0].mirror[0].pull-from-mirror (line 6 of the file) is set beside mirror-by-digest-only of its registry; keep one"},
		{reg + "prefix = 'a'\n" + reg + "prefix = 'b'\nblocked = true", "registry[1] (line 4 of the file) is listed before with other values of blocked or insecure; make them equal"},
		{"[registry]\nlocation = 'a'", "registry (line 1 of the file) must be a list of tables; begin each with [[registry]]"},
		{reg + "mirror = 'm'", "registry[0].mirror (line 3 of the file) must be a list of tables; begin each with [[registry.mirror]]"},
		{"unqualified-search-registries = ['a']\n[registries.search]\nregistries = ['a']", "registries has format version 1 beside fields of version 2; write all registries as [[registry]]"},
		{"[registries.search]\nregistries = [1]", "registries.search.registries[0] (line 2 of the file) must be a string, in quotes"},
		{"a = 1\na = 2", "is not valid TOML from line 2 of the file on; correct it"},
	} {
		got := strings.Join(slices.DeleteFunc(Check([]byte(tc.text), false), func(s string) bool { return s == "" }), "\n")
		if got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
	if got := Check([]byte("[registries.search]\nregistries = ['a']"), true); len(got) != 1 {
		t.Errorf("version 1 in registries.conf.d: %v", got)
	}
}

// secret stands for a secret, which must not be shown.
const secret = "s3cr3t-m4rk3r"

// FuzzRegistriesConf checks that no message shows a value of the file.
func FuzzRegistriesConf(f *testing.F) {
	f.Add("short-name-mode = '" + secret + "'\nregistry = '" + secret + "'\n")
	f.Add("[[registry]]\nlocation = 'https://" + secret + "'\n[[registry.mirror]]\nlocation = 5\n[aliases]\na = '" + secret + ":1'")
	f.Add("registry = [1, {x = 2}, [{}]]\nregistries = 1\naliases = []")
	f.Fuzz(func(t *testing.T, text string) {
		for _, wrong := range Check([]byte(text), false) {
			if strings.Contains(wrong, secret) && !strings.Contains(text, secret+"\" =") && !strings.Contains(text, secret+" =") && !strings.Contains(text, secret+"=") {
				t.Errorf("shows a value: %s", wrong)
			}
		}
	})
}

// TestDeepFileIsRefused has a file within the limit of the size whose key has so many names that its parser would take all memory.
func TestDeepFileIsRefused(t *testing.T) {
	if _, wrong := Parse([]byte("a" + strings.Repeat(".a", 400_000) + " = 1\n")); !strings.Contains(wrong, "inside more than 100 others") {
		t.Error(wrong)
	}
}
