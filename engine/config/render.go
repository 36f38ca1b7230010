package config

import (
	"encoding/base64"
	"path"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine"
)

// Ignition gives the merged configuration as Ignition config, as a new host
// is provisioned with, and with these files beside: records of it that no
// document may write, in folders for root alone. OS image, kernel type,
// extensions and FIPS have no place in it. It is of the oldest version that can
// say all of it, because the OS that reads it may be old. It holds secrets.
func (l Loaded) Ignition(records ...engine.File) ([]byte, error) {
	c := l.merged
	c.Storage.Files, c.Storage.Directories = slices.Clone(c.Storage.Files), slices.Clone(c.Storage.Directories)
	for i := range c.Storage.Files {
		f := &c.Storage.Files[i]
		f.Contents, f.Append = l.contents.ignitionResource(f.Contents), slices.Clone(f.Append)
		for j := range f.Append {
			f.Append[j] = l.contents.ignitionResource(f.Append[j])
		}
	}
	for _, r := range records {
		source, yes, private := "data:;base64,"+base64.StdEncoding.EncodeToString(r.Contents), true, 0o700
		c.Storage.Files = append(c.Storage.Files, types.File{
			Node:          types.Node{Path: r.Path, Overwrite: &yes},
			FileEmbedded1: types.FileEmbedded1{Contents: types.Resource{Source: &source}, Mode: r.Mode},
		})
		c.Storage.Directories = append(c.Storage.Directories, types.Directory{
			Node:               types.Node{Path: path.Dir(r.Path)},
			DirectoryEmbedded1: types.DirectoryEmbedded1{Mode: &private},
		})
	}
	return encodeOldest(c)
}

// provisioningConfig is the merged config as it makes Ignition do what is done on a
// running host: files replace what the OS has in their place (the default of
// the Machine Config Operator, not of Ignition), a masked unit is nothing
// else, and kernel arguments of MachineConfigs are there.
func (b *builder) provisioningConfig() types.Config {
	c := b.merged
	c.Storage.Files = slices.Clone(c.Storage.Files)
	for i := range c.Storage.Files {
		f := &c.Storage.Files[i]
		if yes := true; f.Overwrite == nil && f.Contents.Source != nil {
			f.Overwrite = &yes
		}
	}
	c.Systemd.Units = slices.Clone(c.Systemd.Units)
	for i := range c.Systemd.Units {
		if u := &c.Systemd.Units[i]; isTrue(u.Mask) {
			u.Contents, u.Enabled = nil, nil
		}
	}
	c.KernelArguments.ShouldExist = nil
	for _, a := range b.out.KernelArgs {
		if arg := types.KernelArgument(a); !slices.Contains(c.KernelArguments.ShouldExist, arg) {
			c.KernelArguments.ShouldExist = append(c.KernelArguments.ShouldExist, arg)
		}
	}
	return c
}
