package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Down removes the hosts, the network, the labs beside this one and everything else that Up made, except
// the image. If no other lab is up, it restores the inotify limit of the machine.
// It also ends the hosts of labs whose folder is gone.
// The next Up uses the image again. If all is true, Down removes the image, too, and the lab's folder.
// It never removes files of others in that folder.
func (l *Lab) Down(ctx context.Context, all bool) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.removeBeside(ctx); err != nil {
		return err
	}
	if err := errors.Join(l.tearDown(ctx), l.endGoneLabs(ctx)); err != nil {
		return err
	}
	if err := machineWatches.restoreLimit(l.listOtherLabs); err != nil || !all {
		return err
	}
	return l.removeAll()
}

// DownAlone is Down for a lab whose image stays and beside which other labs may run: it does not touch these.
func (l *Lab) DownAlone(ctx context.Context) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return l.tearDown(ctx)
}

func (l *Lab) tearDown(ctx context.Context) error {
	if !l.IsUp() {
		return nil
	}
	if err := l.removeEverything(ctx); err != nil {
		return fmt.Errorf("take lab down: %w", err)
	}
	return nil
}

func (l *Lab) removeEverything(ctx context.Context) error {
	hosts, err := l.hostsWithFolder()
	if err != nil {
		return err
	}
	err = errors.Join(l.stopKubernetes(ctx), l.stopService(ctx, bmcService), removeHosts(ctx, hosts), l.StopServing(ctx))
	if err != nil {
		return err
	}
	if err := errors.Join(l.space.Down(ctx), host.RemoveCgroups(string(l.space)), machineWatches.restoreLimit(l.listOtherLabs)); err != nil {
		return err
	}
	for _, name := range hostsNames {
		if err := image.Remove(l.path(name)); err != nil {
			return err
		}
	}
	// The state comes last, so that an interrupted Down can be repeated.
	if err := machineLabs.removeLab(l.space, l.dir); err != nil {
		return err
	}
	l.state = state{}
	l.self = sync.OnceValues(l.installSelf) // Down has removed the copy of the program; the next use copies it again
	return nil
}

func (l *Lab) hostsWithFolder() ([]*Host, error) {
	entries, err := os.ReadDir(l.path("hosts"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var hosts []*Host
	for _, e := range entries {
		hosts = append(hosts, l.newHost(spec.Host{Name: e.Name()}))
	}
	return hosts, nil
}
