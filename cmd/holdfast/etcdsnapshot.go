package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/etcd"
)

func (a *app) etcdSnapshotCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot [CLUSTER] [FILE]",
		Short: "Save a cluster's data to this machine and check its hash",
		Args:  expectArgs(0, 2),
		Long: `snapshot saves the data of a cluster to a file (default CLUSTER-TIME.db), and
checks its hash. It never replaces a file. With one cluster in the inventory,
its name may be omitted.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.etcdSnapshot(cmd.Context(), args) },
	}
}

func (a *app) etcdSnapshot(ctx context.Context, args []string) error {
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	name, path, err := s.snapshotOf(args)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("etcd snapshot: %s exists already; name another file", path)
	}
	cluster, err := s.clusters.Open(ctx, name)
	if err != nil {
		return failWith(engine.ExitFailed, err)
	}
	var info etcd.SnapshotInfo
	if info, err = cluster.Snapshot(ctx, path); err != nil {
		return failWith(engine.ExitFailed, err)
	}
	if a.json {
		return a.printJSON(info)
	}
	fmt.Fprintf(a.stdout, "%s: %.1f MB from %s in %s, sha256 %s\n", info.Path, float64(info.Bytes)/1e6, info.Host, time.Duration(info.Took).Round(1e7), info.SHA256)
	return nil
}

// snapshotOf takes a single argument for the file if the inventory has only one cluster.
func (s *site) snapshotOf(args []string) (name, path string, err error) {
	var names []string
	for _, c := range s.inv.Clusters {
		names = append(names, c.Name)
	}
	switch {
	case len(names) == 0:
		return "", "", errors.New("etcd snapshot: the inventory has no etcd cluster")
	case len(args) > 0 && (slices.Contains(names, args[0]) || len(args) > 1):
		name, args = args[0], args[1:]
	case len(names) > 1 && len(args) == 0:
		return "", "", fmt.Errorf("etcd snapshot: name one of the clusters %s", strings.Join(names, ", "))
	case len(names) > 1:
		name, args = args[0], nil
	default:
		name = names[0]
	}
	if !slices.Contains(names, name) {
		err := fmt.Errorf("no etcd cluster %q in the inventory; there are %s", name, strings.Join(names, ", "))
		return "", "", err
	}
	path = name + "-" + clock.Real{}.Now().UTC().Format("20060102-150405") + ".db"
	if len(args) > 0 {
		path = args[0]
	}
	return name, path, nil
}
