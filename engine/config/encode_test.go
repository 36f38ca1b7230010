package config

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A rendered config has the oldest version that can express it.
func TestRenderedVersion(t *testing.T) {
	for doc, want := range map[string]string{
		`"storage": {"files": [{"path": "/etc/a", "contents": {"source": "data:,a"}}]}`:                                                   `"version": "3.1.0"`,
		`"storage": {"luks": [{"name": "a", "device": "/dev/sda"}]}`:                                                                      `"version": "3.2.0"`,
		`"kernelArguments": {"shouldExist": ["console=tty0 console=ttyS0", "a"], "shouldNotExist": ["console=tty0"]}`:                     `"console=tty0 console=ttyS0",`,
		`"kernelArguments": {"shouldExist": ["a"]}`:                                                                                       `"version": "3.3.0"`,
		`"storage": {"luks": [{"name": "a", "device": "/dev/sda", "discard": true}]}`:                                                     `"version": "3.4.0"`,
		`"storage": {"luks": [{"name": "a", "device": "/dev/sda", "cex": {"enabled": true}}]}`:                                            `"version": "3.5.0"`,
		`"storage": {"files": [{"path": "/etc/a", "mode": 2541, "contents": {"source": "data:,a"}}]}`:                                     `"version": "3.6.0"`,
		`"storage": {"directories": [{"path": "/var/a", "mode": 1023}]}`:                                                                  `"version": "3.6.0"`,
		`"storage": {"luks": [{"name": "a", "device": "/dev/sda", "clevis": {"custom": {"pin": "own", "config": "x"}}}]}`:                 `"version": "3.6.0"`,
		`"storage": {"disks": [{"device": "/dev/sda", "partitions": [{"number": 1, "sizeMiB": 0}, {"number": 2, "sizeMiB": 12345678}]}]}`: `"sizeMiB": 12345678`,
	} {
		loaded, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(`{"ignition": {"version": "3.6.0"}, ` + doc + `}`)}}, Paths: []string{"x.ign"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := loaded.Ignition()
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "{}") {
			t.Errorf("%s: %v, without %s:\n%s", doc, err, want, text)
		}
		roundTrip(t, loaded)
	}
}
