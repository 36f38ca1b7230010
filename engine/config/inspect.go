package config

import (
	"errors"
	"fmt"

	"github.com/BurntSushi/toml"

	"holdfast/engine"
)

// registriesFile is where containers/image reads registries from.
const registriesFile = "/etc/containers/registries.conf"

// inspect looks into the contents of a file whose mistakes would show only
// when something fails on the host. It says what is wrong, "" if nothing is.
func inspect(path string, contents []byte) string {
	switch {
	case path == registriesFile:
		_, wrong := readRegistries(contents)
		return wrong
	case pullSecrets[path]:
		_, wrong := readPullSecret(contents)
		return wrong
	}
	return ""
}

func readRegistries(contents []byte) (registries map[string]any, wrong string) {
	_, err := toml.Decode(string(contents), &registries)
	var at toml.ParseError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Sprintf("is not valid TOML from line %d of the file on; correct it", at.Position.Line)
	case err != nil:
		return nil, "is not valid TOML; correct it"
	}
	return registries, ""
}

// inspect looks into the merged files, as inspect above did into each
// document's, and at how they fit together.
func (b *builder) inspect() {
	var registries map[string]any
	for _, f := range b.out.Files {
		if f.Inherit {
			continue
		}
		text := whole(f)
		if wrong := inspect(f.Path, text); wrong != "" {
			b.problems.add(b.contentsAt(f), "%s", wrong)
		} else if f.Path == registriesFile {
			registries, _ = readRegistries(text)
		}
	}
	for _, f := range b.out.Files {
		if pullSecrets[f.Path] && !f.Inherit {
			b.pullSecret(f, registries)
		}
	}
}

// whole is all that a file that does not inherit has in it.
func whole(f engine.File) []byte {
	return append(f.Contents[:len(f.Contents):len(f.Contents)], f.Append...)
}

// contentsAt is where the contents of a file are.
func (b *builder) contentsAt(f engine.File) engine.Place {
	return b.known.place("node "+f.Path, "contents")
}
