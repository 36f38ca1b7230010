package modules

import (
	"errors"
	"strings"

	"holdfast/engine"
)

// ostree updates hosts with the ostree command itself.
type ostree struct{}

func (ostree) probe() []engine.Command { return nil }

func (ostree) read(o engine.Outputs, f engine.Facts) engine.Facts {
	if out := o["ostree version"]; out.Code == 0 {
		f.Tool, f.Features = yamlVersion("ostree", out.Stdout)
	}
	return f
}

func (ostree) check(o engine.OS, f engine.Facts) error {
	if remote, ref := source(o, f); remote == "" || ref == "" {
		return errors.New("the booted deployment follows no ref of a remote; give remote and ref in its os block")
	}
	return nil
}

func (ostree) job(o engine.OS, f engine.Facts) script {
	remote, ref := source(o, f)
	return script{vars: map[string]string{"remote": remote, "ref": ref}, text: ostreeScript}
}

// source gives the remote and ref to follow: those of the inventory, else those
// the booted deployment follows.
func source(o engine.OS, f engine.Facts) (remote, ref string) {
	remote, ref = o.Remote, o.Ref
	if booted := f.Booted(); booted != nil {
		bootedRemote, bootedRef, ok := strings.Cut(booted.Origin, ":")
		if ok && remote == "" {
			remote = bootedRemote
		}
		if ok && ref == "" {
			ref = bootedRef
		}
	}
	return remote, ref
}

// yamlVersion reads what "ostree --version" and "rpm-ostree --version" print:
//
//	ostree:
//	 Version: '2025.2'
//	 Features:
//	  - libcurl
func yamlVersion(tool, text string) (version string, features []string) {
	version = tool
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "Version:"); ok && version == tool {
			version += " " + strings.Trim(strings.TrimSpace(v), `'"`)
		} else if name, ok := strings.CutPrefix(line, "- "); ok {
			features = append(features, name)
		}
	}
	return version, features
}
