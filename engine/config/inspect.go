package config

import (
	"github.com/BurntSushi/toml"

	"holdfast/engine"
)

// registriesFile is where containers/image reads registries from.
const registriesFile = "/etc/containers/registries.conf"

// inspect looks into files whose mistakes would show only when something
// fails on the host.
func (b *builder) inspect() {
	registries := map[string]any{}
	for _, f := range b.out.Files {
		if f.Path != registriesFile || f.Inherit {
			continue
		}
		if _, err := toml.Decode(string(f.Contents), &registries); err != nil {
			line := 0
			if p, ok := err.(toml.ParseError); ok { //nolint:errorlint // toml gives it as it is
				line = p.Position.Line
			}
			b.problems.add(b.contents(f), "is not valid TOML (line %d of the file); correct it", line)
		}
	}
	for _, f := range b.out.Files {
		if pullSecrets[f.Path] && !f.Inherit {
			b.pullSecret(f, registries)
		}
	}
}

// contents is where the contents of a file are.
func (b *builder) contents(f engine.File) engine.Place {
	return b.known.place("node "+f.Path, "contents")
}
