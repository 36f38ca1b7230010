package config

import (
	"cmp"
	"path"
	"strings"

	"holdfast/engine/config/registries"
	"holdfast/engine/resource"
)

// checkContents returns all errors that would otherwise show only when a service fails on the host.
func checkContents(name string, contents []byte) []string {
	switch {
	case name == registries.File:
		return registries.Check(contents, false)
	case isInRegistriesFolder(name):
		return registries.Check(contents, true)
	case registries.IsPullSecret(name):
		if _, wrong := registries.ReadPullSecret(contents); wrong != "" {
			return []string{wrong}
		}
	}
	return nil
}

func isInRegistriesFolder(name string) bool {
	return strings.HasPrefix(name, registries.Folder) && path.Ext(name) == ".conf" && path.Dir(name)+"/" == registries.Folder
}

func isChecked(name string) bool {
	return name == registries.File || isInRegistriesFolder(name) || registries.IsPullSecret(name)
}

func (b *builder) checkMergedContents() {
	var configured map[string]any
	for _, f := range b.out.Files {
		if f.Inherit || !isChecked(f.Path) {
			continue
		}
		text := fullContents(f)
		wrong := checkContents(f.Path, text)
		for _, w := range wrong {
			b.problems.AddError(b.contentsPlace(f), "%s", w)
		}
		if len(wrong) == 0 && f.Path == registries.File {
			configured, _ = registries.Parse(text)
		}
	}
	for _, f := range b.out.Files {
		if registries.IsPullSecret(f.Path) && !f.Inherit {
			b.checkPullSecret(f, configured)
		}
	}
}

func fullContents(f resource.File) []byte {
	return append(f.Contents[:len(f.Contents):len(f.Contents)], f.Append...)
}

func (b *builder) contentsPlace(f resource.File) resource.SourcePosition {
	return b.places.entryPlace("node "+f.Path, "contents")
}

func (b *builder) checkPullSecret(f resource.File, configured map[string]any) {
	logins, wrong := registries.ReadPullSecret(fullContents(f))
	if wrong != "" {
		return // already reported
	}
	for _, image := range []string{cmp.Or(b.out.OSImage, b.osImage), b.out.ExtensionsImage} {
		if image != "" && !registries.HasLogin(image, logins, configured) {
			b.problems.AddError(b.contentsPlace(f), "has no entry for %s, from which the OS comes; add one", registries.RegistryName(image))
		}
	}
}
