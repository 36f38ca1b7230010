package main

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/inventory"
)

// system gives the OS that a host is to run, from its pool and its documents,
// and refuses what these say about the system and nobody would carry out.
func (c *configs) system(h engine.Host, g *shared) *engine.OS {
	pool, _ := c.site.Inventory.Pool(h.Pool)
	want := g.loaded.Config
	const intoImage = "is not changed on running hosts by this version; put it into the OS image, and take it out here"
	if len(want.Extensions) > 0 {
		c.at(g, "extensions", intoImage)
	}
	if want.ExtensionsImage != "" {
		c.at(g, "baseOSExtensionsContainerImage", intoImage)
	}
	if want.KernelType != "" {
		c.at(g, "kernelType", intoImage)
	}
	arguments := len(want.KernelArgs)+len(want.NoKernelArgs) > 0
	switch {
	case arguments && pool.OS == nil:
		c.at(g, "kernelArguments", fmt.Sprintf("is changed with the OS tool, and pool %q has no os block that says which; add os { driver = \"rpm-ostree\" } to it, or ostree", pool.Name))
	case arguments && pool.OS.Driver == "bootc":
		c.at(g, "kernelArguments", fmt.Sprintf("is not changed with bootc, the driver of pool %q; put it into the OS image, below /usr/lib/bootc/kargs.d, and take it out here", pool.Name))
	}
	if want.OSImage != "" {
		return c.image(pool, g)
	}
	c.alone(h, pool.OS)
	return pool.OS
}

// image gives the OS of a pool whose documents name one.
func (c *configs) image(pool engine.Pool, g *shared) *engine.OS {
	image, os := g.loaded.Config.OSImage, pool.OS
	switch {
	case os == nil:
		c.at(g, "osImageURL", fmt.Sprintf("is installed with the OS tool, and pool %q has no os block that says which; add os { driver = \"rpm-ostree\" } to it, or bootc", pool.Name))
	case !inventory.Pinned(image):
		c.at(g, "osImageURL", "is not pinned; write NAME@sha256:DIGEST, with 64 hexadecimal digits: a tag can move")
	case os.Driver == "ostree":
		c.at(g, "osImageURL", fmt.Sprintf("is a container image, which the driver ostree of pool %q does not install; use rpm-ostree or bootc", pool.Name))
	case os.Commit != "":
		c.at(g, "osImageURL", fmt.Sprintf("says %s, and the os block of pool %q the commit %s; keep one", image, pool.Name, os.Commit))
	case os.Image != "" && os.Image != image:
		c.at(g, "osImageURL", fmt.Sprintf("says %s, and the os block of pool %q says %s; keep one", image, pool.Name, os.Image))
	default:
		merged := *os
		merged.Image = image
		return &merged
	}
	return os
}

// alone refuses a driver without an OS that can do nothing at all.
func (c *configs) alone(h engine.Host, os *engine.OS) {
	if os != nil && os.Driver == "bootc" && os.Image == "" {
		c.problem(fmt.Sprintf("pool %q has the driver bootc and no image, and the configurations of %s have no osImageURL; add one or the other", h.Pool, h.Name))
	}
}

// at notes what is wrong with a setting, where a document has it.
func (c *configs) at(g *shared, setting, text string) {
	place := g.loaded.SettingPlace(setting).String()
	if place == "" {
		place = setting
	}
	c.problem(place + ": " + text)
}
