package inventory

import (
	"fmt"
	"regexp"

	"holdfast/engine"
	"holdfast/engine/version"
)

var (
	commitRule = regexp.MustCompile(`^[0-9a-f]{64}$`)
	imageRule  = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)
)

func (b *builder) readOS(n *node) *engine.OS {
	r := b.newReader(n)
	o := &engine.OS{
		Driver: r.readText("driver"), Remote: r.readText("remote"), Ref: r.readText("ref"),
		Commit: r.readText("commit"), Image: r.readText("image"), MinFreeBytes: r.readSize("min_free"), Version: r.readText("version"),
		Source: r.readText("source"),
	}
	if o.Commit != "" && !IsCommit(o.Commit) {
		b.addError(n.args["commit"].Expr.Range(), "commit is not an ostree commit", "write all 64 hexadecimal digits, as ostree rev-parse prints them")
	}
	if o.Image != "" && !Pinned(o.Image) {
		b.addError(n.args["image"].Expr.Range(), "image is not pinned", "write NAME@sha256:DIGEST, with 64 hexadecimal digits; a tag can move")
	}
	if _, ok := version.Skew(o.Version, o.Version); o.Version != "" && !ok {
		b.addError(n.args["version"].Expr.Range(), "version has no minor version", "write it such as \"4.16\" or \"4.16.3\"; max_skew compares the second number")
	}
	alone := n.args["image"] == nil && n.args["remote"] == nil && n.args["ref"] == nil && n.args["commit"] == nil
	switch o.Driver {
	case "ostree":
		if !alone {
			b.requireArguments(n, "ostree", "commit")
		}
		b.forbidArguments(n, "ostree", "image")
	case "rpm-ostree":
		if n.args["image"] != nil {
			b.forbidArguments(n, "rpm-ostree with an image", "remote", "ref", "commit")
		} else if !alone {
			b.requireArguments(n, "rpm-ostree without an image", "remote", "ref", "commit")
		}
	case "bootc":
		b.forbidArguments(n, "bootc", "remote", "ref", "commit")
	case "":
	default:
		b.addError(n.args["driver"].Expr.Range(), fmt.Sprintf("driver must be ostree, rpm-ostree or bootc, not %q", o.Driver), "")
	}
	if o.Source != "" && !r.isWrong("driver", "commit", "image") {
		b.checkSource(n, *o)
	}
	return o
}

func (b *builder) requireArguments(n *node, driver string, names ...string) {
	for _, name := range names {
		if n.args[name] == nil {
			b.addError(n.at, fmt.Sprintf("os has no %s", name), fmt.Sprintf("the driver %s needs it", driver))
		}
	}
}

func (b *builder) forbidArguments(n *node, driver string, names ...string) {
	for _, name := range names {
		if a := n.args[name]; a != nil {
			b.addError(a.NameRange, fmt.Sprintf("%s cannot be used here", name), fmt.Sprintf("the driver %s does not support it", driver))
		}
	}
}

// Pinned reports whether the name of a container image has a digest.
func Pinned(image string) bool { return imageRule.MatchString(image) }

// IsCommit reports whether a text is the ID of a commit of ostree.
func IsCommit(s string) bool { return commitRule.MatchString(s) }

func (b *builder) readMirror(n *node) *engine.Mirror {
	r := b.newReader(n)
	m := &engine.Mirror{Repository: r.readPath("repository"), Layout: r.readPath("layout"), BytesPerSecond: max(0, r.readSize("rate")), HostBytesPerSecond: max(0, r.readSize("host_rate"))}
	if m.Repository == "" && m.Layout == "" && !r.isWrong("repository", "layout") {
		b.addError(n.at, "mirror has neither repository nor layout", "add repository for ostree, layout for rpm-ostree and bootc")
	}
	b.checkRate(n, "rate", m.BytesPerSecond)
	b.checkRate(n, "host_rate", m.HostBytesPerSecond)
	return m
}

func (b *builder) checkRate(n *node, name string, rate int64) {
	if rate > 0 && rate < engine.MinMirrorRate {
		b.addError(n.args[name].Expr.Range(), name+" is too low", "write at least \"32KiB\": ostree gives up slower transfers")
	}
}

func (b *builder) checkSource(n *node, o engine.OS) {
	at := n.args["source"].Expr.Range()
	switch {
	case o.Source != engine.BastionSource:
		b.addError(at, fmt.Sprintf("source must be %q, not %q", engine.BastionSource, o.Source), "leave it out for hosts that fetch the OS as configured on them")
	case o.Driver == "ostree" && o.Commit == "":
		b.addError(at, "source cannot be used here", "the os block names no commit, so nothing is fetched")
	case o.Driver != "ostree" && o.Image == "":
		b.addError(at, "source cannot be used here", fmt.Sprintf("the driver %s fetches only images from the bastion; write image = \"NAME@sha256:DIGEST\"", o.Driver))
	case o.Image != "" && !mirroredRule.MatchString(o.Image):
		b.addError(n.args["image"].Expr.Range(), "hosts cannot find this name on the bastion", "write it with its registry and without a tag: \"quay.io/acme/os@sha256:DIGEST\"")
	case b.inv.Mirror == nil:
		b.addError(at, "the site has no mirror", "add mirror { "+folderOf(o)+" = \"FOLDER\" } to the site block")
	case b.newReader(b.root.childBlock("site").childBlock("mirror")).isWrong("repository", "layout"):
	case folderOf(o) == "repository" && b.inv.Mirror.Repository == "", folderOf(o) == "layout" && b.inv.Mirror.Layout == "":
		b.addError(at, "the mirror of the site has no "+folderOf(o), "add "+folderOf(o)+" = \"FOLDER\" to the mirror block")
	}
}

// mirroredRule matches images that a registries.conf can redirect: a complete name with a digest and without a tag.
var mirroredRule = regexp.MustCompile(`^([a-z0-9-]+(\.[a-z0-9-]+)+|localhost|[a-z0-9.-]+:[0-9]+)(:[0-9]+)?(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$`)

func folderOf(o engine.OS) string {
	if o.Image != "" {
		return "layout"
	}
	return "repository"
}
