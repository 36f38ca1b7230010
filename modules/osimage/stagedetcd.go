package osimage

import (
	_ "embed" // embeds stagedetcd.sh
	"regexp"

	"holdfast/engine"
)

//go:embed sh/stagedetcd.sh
var stagedEtcdScript string

// etcdVersionLine is the first line that "etcd --version" prints.
var etcdVersionLine = regexp.MustCompile(`^etcd Version: ([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}[0-9A-Za-z.+-]{0,40})\n`)

func stagedEtcdProbe() engine.Command {
	return engine.Command{Name: "staged etcd", Script: stagedEtcdScript}
}

// readStagedEtcd adds the version of etcd in the staged deployment to the facts. The version is
// missing if no unit of the host runs the etcd of the OS, or if the staged etcd prints no version.
func readStagedEtcd(o engine.Outputs, f engine.Facts) engine.Facts {
	match := etcdVersionLine.FindStringSubmatch(o["staged etcd"].Stdout)
	if match == nil {
		return f
	}
	for i := range f.Deployments {
		if f.Deployments[i].Staged {
			f.Deployments[i].Etcd = match[1]
		}
	}
	return f
}
