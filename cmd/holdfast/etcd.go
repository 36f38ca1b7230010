package main

import "github.com/spf13/cobra"

func (a *app) etcdCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "etcd", Short: "Look at etcd clusters, save and restore them, or change their members"}
	cmd.AddCommand(a.etcdStatusCommand(), a.etcdEndpointsCommand(), a.etcdMembersCommand(), a.etcdRestoreCommand(), a.etcdSnapshotCommand())
	requireSubcommand(cmd)
	return cmd
}
