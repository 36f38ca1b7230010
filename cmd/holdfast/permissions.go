package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Flags of plan and apply that permit or forbid parts of a plan.

func addFullReboot(cmd *cobra.Command, full *bool) {
	cmd.Flags().BoolVar(full, "full-reboot", false, "reboot hosts in full, also where a soft reboot or a kexec would be enough")
}

func addRepair(cmd *cobra.Command, hosts *[]string) {
	cmd.Flags().StringSliceVar(hosts, "repair-member", nil, "disrupt `HOST`, to repair it, although its own etcd member is unhealthy (repeatable)")
}

func addAnyEtcdVersion(cmd *cobra.Command, allowed *bool) {
	cmd.Flags().BoolVar(allowed, "any-etcd-version", false, "boot an OS although its etcd is older than the cluster, skips a minor version, or may not know the voters")
}

func (s *site) setRepairHosts(names []string) error {
	for _, name := range names {
		if h, ok := s.inv.Host(name); !ok || h.Cluster == "" {
			return fmt.Errorf("--repair-member %s: no host of that name is a member of an etcd cluster", name)
		}
	}
	s.run.Repair = names
	return nil
}
