package config

import (
	"path"
	"strings"

	"holdfast/engine"
)

// checkContents checks the contents of files that services parse, because the
// host would fail only later. It returns all problems.
func checkContents(name string, contents []byte) []string {
	switch {
	case name == registriesFile:
		return checkRegistries(contents, false)
	case strings.HasPrefix(name, registriesFolder) && path.Ext(name) == ".conf" && path.Dir(name)+"/" == registriesFolder:
		return checkRegistries(contents, true)
	case pullSecrets[name]:
		if _, wrong := readPullSecret(contents); wrong != "" {
			return []string{wrong}
		}
	}
	return nil
}

func (b *builder) checkMergedContents() {
	var registries map[string]any
	for _, f := range b.out.Files {
		if f.Inherit {
			continue
		}
		text := fullContents(f)
		wrong := checkContents(f.Path, text)
		for _, w := range wrong {
			b.problems.addError(b.contentsPlace(f), "%s", w)
		}
		if len(wrong) == 0 && f.Path == registriesFile {
			registries, _ = readRegistries(text)
		}
	}
	for _, f := range b.out.Files {
		if pullSecrets[f.Path] && !f.Inherit {
			b.checkPullSecret(f, registries)
		}
	}
}

func fullContents(f engine.File) []byte {
	return append(f.Contents[:len(f.Contents):len(f.Contents)], f.Append...)
}

func (b *builder) contentsPlace(f engine.File) engine.SourcePosition {
	return b.places.entryPlace("node "+f.Path, "contents")
}
