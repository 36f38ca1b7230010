package main

import (
	"errors"
	"fmt"

	"holdfast/engine/bastion"
	"holdfast/engine/etcd/issuer"
	"holdfast/engine/inventory"
	"holdfast/engine/textutil"
)

// checkAuthorities reads the files of the CAs that issue certificates of etcd. A file that is not on this machine is a warning, because it may
// be on the bastion. A file with wrong contents is an error.
func (o *siteOpener) checkAuthorities(loaded inventory.Loaded) (absent []string, err error) {
	var wrong []error
	for _, c := range loaded.Inventory.Clusters {
		if c.Managed == nil || c.Managed.CA == nil {
			continue
		}
		ca := *c.Managed.CA
		for _, p := range issuer.CheckFiles(ca, signingBastion{o.newInputs(), bastion.Commands{Dir: loaded.Dir, Secrets: textutil.NewSecrets(loaded.Sensitive)}}) {
			text := fmt.Errorf("%s: etcd_cluster %q: %w", ca.Positions[p.Argument], c.Name, p.Err)
			if p.IsAbsent() {
				absent = append(absent, text.Error()+"; etcd members needs it on the machine where it runs")
			} else {
				wrong = append(wrong, text)
			}
		}
	}
	return absent, errors.Join(wrong...)
}
