package change

import (
	"context"
	"fmt"
	"io"
	"os"

	"holdfast/engine"
	"holdfast/engine/etcd/restore"
)

// buildData makes the new data beside the old data, and checks the new data.
func (r *Restore) buildData(ctx context.Context, s restore.State, host string) (string, error) {
	source := s.Source()
	if source.Identity != r.approved {
		return "", &engine.Failure{
			Host: host, Step: restore.Build.String(), Kind: engine.RefusedFailure,
			Cause: "the freshest data are not those that were approved: the hosts have changed since; run it again, and read the new plan",
		}
	}
	owner, m := r.Run.Owner, *r.Run.Cluster.Managed
	if err := r.Run.runScript(ctx, host, openRoomScript(owner, m)); err != nil {
		return "", err
	}
	bring := r.uploadSnapshot
	if source.Host != "" {
		bring = func(ctx context.Context, host string) error { return r.runLong(ctx, host, copyScript(owner, m)) }
	}
	if err := bring(ctx, host); err != nil {
		return "", err
	}
	made := newData{settings: r.newSettings(host, source), copied: source.Host != "", bump: revisionBump + max(0, r.highest-source.Revision)}
	if err := r.runLong(ctx, host, buildScript(owner, m, made)); err != nil {
		return "", err
	}
	contents, err := (&hostFile{ctx: ctx, run: r.Run, host: host, built: true}).readContents()
	switch {
	case err != nil:
		return "", fmt.Errorf("the new data: %w", err)
	case contents.Revision < source.Revision+made.bump || len(contents.Members) != 1 || contents.Members[0].Name != host:
		return "", fmt.Errorf("the new data are not those of a cluster of one voter %s: revision %d, %d members", host, contents.Revision, len(contents.Members))
	}
	r.revision = contents.Revision
	if err := r.noteLineage(s.Kin(source), contents.Revision); err != nil {
		return "", err
	}
	noted := r.Run.replaced // no cluster counts as replaced yet
	noted.lineage = r.lineage
	if err := r.Run.runScript(ctx, host, noteScript(owner, m, noted)); err != nil {
		return "", err
	}
	return fmt.Sprintf("revision %d", contents.Revision), r.Run.runScript(ctx, host, completeScript(owner, m, source.Identity))
}

func (r *Restore) uploadSnapshot(ctx context.Context, host string) error {
	if err := r.Run.renewHold(ctx, host); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTime)
	defer cancel()
	file, err := os.Open(r.Snapshot.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	h, _ := r.Run.findHost(host)
	script := receiveScript(r.Run.Owner, *r.Run.Cluster.Managed, r.Snapshot.Size, r.Snapshot.SHA256)
	reply, err := r.Upload(ctx, h, script, io.LimitReader(file, r.Snapshot.Size))
	_, err = replyText(host, reply, err)
	return err
}

// runLong runs a script whose time depends on the size of the data.
func (r *Restore) runLong(ctx context.Context, host string, script Script) error {
	if err := r.Run.renewHold(ctx, host); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	h, _ := r.Run.findHost(host)
	reply, err := r.Run.Hosts.Run(ctx, h, script)
	_, err = replyText(host, reply, err)
	return err
}
