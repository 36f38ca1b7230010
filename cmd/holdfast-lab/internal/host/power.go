package host

import (
	"context"
	"errors"
	"path/filepath"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/netns"
)

func (m *machine) reloadSettings(ctx context.Context) error {
	s, err := m.Settings()
	if err != nil {
		return err
	}
	m.settings = s
	return errors.Join(netns.Plug(ctx, m.config.Host.Index, !s.Cut), m.limitDisk())
}

func (m *machine) limitDisk() error {
	if m.loop == nil {
		return nil
	}
	if m.throttle == nil {
		if m.settings.Speed == (disk.Speed{}) {
			return nil
		}
		return disk.ErrNoThrottle
	}
	return m.throttle.Limit(m.loop.Lower(), m.settings.Speed)
}

func (m *machine) mountDisk() (err error) {
	if m.config.Kind == OnDir {
		return disk.MountBoot(filepath.Join(m.Root(), "boot"), string(m.Folder))
	}
	if m.loop, err = disk.Attach(m.Image()); err != nil {
		return err
	}
	if err := errors.Join(m.limitDisk(), disk.Mount(m.loop.Device(), m.Root())); err != nil {
		return errors.Join(err, m.detachDisk())
	}
	m.mounted = true
	return nil
}

// unmountRoot closes the filesystem of the host, unless that has happened. The devices stay.
func (m *machine) unmountRoot() error {
	if !m.mounted {
		return nil
	}
	m.mounted = false
	return disk.Unmount(m.loop.Device(), m.Root())
}

func (m *machine) unmountDisk() error {
	if m.config.Kind == OnDir {
		return disk.UnmountBoot(filepath.Join(m.Root(), "boot"))
	}
	return errors.Join(m.unmountRoot(), m.detachDisk())
}

// detachDisk removes the limit before it closes the devices. Otherwise the next
// user of the same device number would inherit the limit.
func (m *machine) detachDisk() error {
	var err error
	if m.throttle != nil {
		err = m.throttle.Limit(m.loop.Lower(), disk.Speed{})
	}
	err = errors.Join(err, m.loop.Close())
	m.loop = nil
	return err
}
