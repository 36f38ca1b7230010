package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/connection"
	"holdfast/engine/etcd/hook"
	"holdfast/engine/report/termtext"
)

func (a *app) etcdEndpointsCommand() *cobra.Command {
	var flags bool
	cmd := &cobra.Command{
		Use:   "endpoints [CLUSTER]",
		Short: "Print the client URLs of a cluster",
		Args:  expectArgs(0, 1),
		Long: `endpoints prints the client URLs of the voters, one per line, as the members
advertise them. With one cluster in the inventory, its name may be omitted. With
--kube-apiserver, it prints the flag --etcd-servers of kube-apiserver instead.

Exit status 0: nothing is wrong with the cluster and its URLs; 3: something is,
and standard error has the reason. URLs of voters that are not healthy are
printed, too.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.etcdEndpoints(cmd.Context(), args, flags) },
	}
	cmd.Flags().BoolVar(&flags, "kube-apiserver", false, "print the flag of kube-apiserver")
	return cmd
}

func (a *app) etcdEndpoints(ctx context.Context, args []string, flags bool) error {
	if flags && a.json {
		return errors.New("etcd endpoints: --kube-apiserver and --json exclude each other")
	}
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	name, err := s.onlyCluster("etcd endpoints", args)
	if err != nil {
		return err
	}
	cluster, err := s.clusters.Open(ctx, name)
	if err != nil {
		return failWith(engine.ExitFailed, err)
	}
	endpoints, err := cluster.Endpoints(ctx)
	if err != nil {
		return failWith(engine.ExitFailed, err)
	}
	for _, p := range endpoints.Problems {
		fmt.Fprintf(a.stderr, "holdfast: warning: etcd cluster %s: %s\n", name, termtext.SafeLine(p))
	}
	switch {
	case a.json:
		err = a.printJSON(endpoints)
	case flags:
		_, err = fmt.Fprintf(a.stdout, "--etcd-servers=%s\n", strings.Join(endpoints.URLs, ","))
	default:
		_, err = fmt.Fprintln(a.stdout, strings.Join(endpoints.URLs, "\n"))
	}
	if err != nil || len(endpoints.Problems) == 0 {
		return err
	}
	return exitWith(engine.ExitFailed)
}

func (s *site) newHook(cluster engine.Cluster, members connection.Members) hook.Hook {
	commands := bastion.Commands{Dir: s.loaded.Dir, Secrets: s.secrets}
	return hook.Hook{
		Cluster: cluster.Name, Run: s.run.ID, Folder: filepath.Join(s.runsDir, "hooks", s.inv.Site), Endpoints: members.Endpoints, Secrets: s.secrets,
		Execute: func(ctx context.Context, env []string) (engine.Output, error) {
			return commands.Run(ctx, cluster.Managed.Hook, env)
		},
	}
}

// warnOfHooks warns of each cluster whose clients have not been told about the last change of its voters.
func (a *app) warnOfHooks(s *site) {
	for _, c := range s.inv.Clusters {
		if c.Managed == nil || c.Managed.Hook == "" {
			continue
		}
		due, err := s.newHook(c, connection.Members{}).IsDue()
		switch {
		case err != nil:
			a.printWarning(fmt.Sprintf("etcd cluster %s: whether its hook is due is not known: %v", c.Name, err))
		case due:
			a.printWarning(fmt.Sprintf("etcd cluster %s: its voters have changed, and the hook has not succeeded since, so clients may use members that are gone; "+
				"repeat it: holdfast etcd members apply %s", c.Name, c.Name))
		}
	}
}

// onlyCluster returns, without an argument, the only cluster of the inventory.
func (s *site) onlyCluster(command string, args []string) (string, error) {
	var names []string
	for _, c := range s.inv.Clusters {
		if len(args) > 0 && args[0] == c.Name {
			return c.Name, nil
		}
		names = append(names, c.Name)
	}
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("%s: the inventory has no etcd cluster", command)
	case len(args) > 0:
		return "", fmt.Errorf("no etcd cluster %q in the inventory; there are %s", args[0], strings.Join(names, ", "))
	case len(names) > 1:
		return "", fmt.Errorf("%s: name one of the clusters %s", command, strings.Join(names, ", "))
	}
	return names[0], nil
}
