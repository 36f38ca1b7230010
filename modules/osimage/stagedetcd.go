package osimage

import (
	_ "embed" // embeds stagedetcd.sh

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/version"
)

//go:embed sh/stagedetcd.sh
var stagedEtcdScript string

func stagedEtcdProbe() engine.Command {
	return engine.Command{Name: "staged etcd", Script: hostscript.AskVersionScript + readStatusScript + stagedEtcdScript}
}

// readStagedEtcd adds the version of etcd in the staged deployment to the facts. The version is
// missing if no unit of the host runs the etcd of the OS, or if the staged etcd prints no version.
func readStagedEtcd(o engine.Outputs, f engine.Facts) engine.Facts {
	for i := range f.Deployments {
		if f.Deployments[i].Staged {
			f.Deployments[i].Etcd = version.ReadEtcd(o["staged etcd"].Stdout)
		}
	}
	return f
}
