package config

import (
	"encoding/base64"
	"path"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/ignition"
	"holdfast/engine/resource"
)

// Ignition encodes the merged configuration as an Ignition config that
// provisions a new host. It adds records, which no document may write, in
// folders that only root can read. OS image, kernel type, extensions and FIPS
// have no equivalent in Ignition. The result has the oldest version that can
// express it, because the OS of the new host may be old. The result contains
// secrets.
func (l Loaded) Ignition(records ...resource.File) ([]byte, error) {
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
	return ignition.Encode(c)
}

// provisioningConfig adapts the merged config so that Ignition has the same
// effect as holdfast on a running host: files replace existing ones (the
// default of the Machine Config Operator, not of Ignition), a masked unit has
// no other settings, and the kernel arguments of MachineConfigs are included.
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
	var args []types.KernelArgument
	for _, a := range b.spec.KernelArguments {
		for _, arg := range resource.SplitKernelArgs(a) {
			args = append(args, types.KernelArgument(arg))
		}
	}
	args = append(args, c.KernelArguments.ShouldExist...) // arguments of one entry stay together
	c.KernelArguments.ShouldExist = nil
	for _, a := range args {
		if !slices.Contains(c.KernelArguments.ShouldExist, a) {
			c.KernelArguments.ShouldExist = append(c.KernelArguments.ShouldExist, a)
		}
	}
	c.KernelArguments.ShouldNotExist = slices.DeleteFunc(slices.Clone(c.KernelArguments.ShouldNotExist), func(a types.KernelArgument) bool {
		return slices.Contains(c.KernelArguments.ShouldExist, a) // Ignition refuses an argument in both lists
	})
	return c
}
