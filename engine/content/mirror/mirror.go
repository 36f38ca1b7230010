// Package mirror fills and checks the repository and the image layout on the bastion, from which hosts fetch their OS.
// It fetches commits with the ostree tool.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"holdfast/engine"
	"holdfast/engine/content/archive"
	"holdfast/engine/content/layout"
)

// Wanted is a commit or an image that the mirror should have.
type Wanted struct {
	Ref    string   `json:"ref,omitempty"`    // branch of the commit
	Commit string   `json:"commit,omitempty"` // ostree commit
	Image  string   `json:"image,omitempty"`  // container image by digest, in place of a commit
	Pools  []string `json:"pools"`            // pools with this OS
}

func (w Wanted) isImage() bool { return w.Image != "" }

// ListWanted lists the commits and images that pools fetch from the bastion, in the order of the inventory.
func ListWanted(inv engine.Inventory) []Wanted {
	var all []Wanted
	index := map[string]int{}
	for _, p := range inv.Pools {
		if p.OS == nil || p.OS.Source != engine.BastionSource {
			continue
		}
		key := p.OS.Ref + "@" + p.OS.Commit + p.OS.Image
		if _, ok := index[key]; !ok {
			index[key] = len(all)
			all = append(all, Wanted{Ref: p.OS.Ref, Commit: p.OS.Commit, Image: p.OS.Image})
		}
		w := &all[index[key]]
		w.Pools = append(w.Pools, p.Name)
	}
	return all
}

// ContentStatus is the result of a check of one commit or image in the mirror.
type ContentStatus struct {
	Wanted
	Objects int      `json:"objects"`           // known objects of the commit, or blobs of the image
	Bytes   int64    `json:"bytes"`             // size of the objects that exist
	Signed  bool     `json:"signed,omitempty"`  // the mirror has signatures for hosts to check: detached ones of a commit, or sigstore's of an image
	Missing []string `json:"missing,omitempty"` // paths of missing objects
	Damaged []string `json:"damaged,omitempty"` // paths of objects whose contents do not have their digest
}

// IsComplete reports whether hosts can fetch the commit or image.
func (s ContentStatus) IsComplete() bool { return len(s.Missing)+len(s.Damaged) == 0 }

// mostFaults is the number of missing, and of damaged objects that ListFaults names.
const mostFaults = 10

// ListFaults returns an indented line for each missing and each damaged object. If there are many, it names only the
// first ones and counts the others.
func (s ContentStatus) ListFaults(indent string) []string {
	var lines []string
	for _, kind := range []struct {
		state string
		paths []string
	}{{"missing", s.Missing}, {"damaged", s.Damaged}} {
		for i, path := range kind.paths {
			if i == mostFaults && len(kind.paths) > mostFaults+1 {
				lines = append(lines, fmt.Sprintf("%sand %d more %s", indent, len(kind.paths)-i, kind.state))
				break
			}
			lines = append(lines, indent+kind.state+": "+path)
		}
	}
	return lines
}

// Check reads every object of the commits and images, and compares its contents with its digest.
func Check(ctx context.Context, m engine.Mirror, wanted []Wanted) ([]ContentStatus, error) {
	var all []ContentStatus
	for _, w := range wanted {
		check, folder := checkCommit, m.Repository
		if w.isImage() {
			check, folder = checkImage, m.Layout
		}
		s, err := check(ctx, folder, w)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func checkCommit(ctx context.Context, folder string, w Wanted) (ContentStatus, error) {
	repository, err := archive.Open(folder)
	if err != nil {
		return ContentStatus{}, err
	}
	defer func() { _ = repository.Close() }() // read only
	report, err := repository.Check(ctx, w.Commit, true)
	if err != nil {
		return ContentStatus{}, fmt.Errorf("check commit %s: %w", w.Commit, err)
	}
	signed, err := repository.HasSignatures(w.Commit)
	if err != nil {
		return ContentStatus{}, fmt.Errorf("check the signatures of commit %s: %w", w.Commit, err)
	}
	s := ContentStatus{Wanted: w, Objects: report.Objects, Bytes: report.Bytes, Signed: signed}
	for _, o := range report.Missing {
		s.Missing = append(s.Missing, o.Path())
	}
	for _, o := range report.Damaged {
		s.Damaged = append(s.Damaged, o.Path())
	}
	return s, nil
}

func checkImage(ctx context.Context, folder string, w Wanted) (ContentStatus, error) {
	opened, err := layout.Open(folder)
	if err != nil {
		return ContentStatus{}, err
	}
	defer func() { _ = opened.Close() }() // read only
	image, err := opened.ReadImage(ctx, w.imageDigest(), true)
	if err != nil {
		return ContentStatus{}, fmt.Errorf("check image %s: %w", w.Image, err)
	}
	s := ContentStatus{Wanted: w, Objects: len(image.Blobs), Bytes: image.Size(), Signed: image.Signature != v1.Hash{}}
	for _, b := range image.Missing {
		s.Missing = append(s.Missing, b.Path())
		s.Bytes -= max(b.Size, 0)
	}
	for _, b := range image.Damaged {
		s.Damaged = append(s.Damaged, b.Path())
	}
	return s, nil
}

// Upstream is a place from which a mirror is filled.
type Upstream struct {
	From   string // URL or folder of an ostree repository, folder with an image layout, or docker:// with or without a repository
	Wanted []Wanted
}

// Update fetches the commits or the images into the mirror and checks them. It makes the folder of the mirror if
// necessary, and fetches missing or damaged parts again. It also fetches signatures, which the hosts check. Reports go
// to out.
func Update(ctx context.Context, m engine.Mirror, up Upstream, out io.Writer) ([]ContentStatus, error) {
	if err := checkFrom(up.From); err != nil {
		return nil, err
	}
	from, err := openImages(up.From)
	if err != nil {
		return nil, err
	}
	if from != nil {
		defer func() { _ = from.close() }() // read only
	}
	up.Wanted = slices.DeleteFunc(slices.Clone(up.Wanted), func(w Wanted) bool { return w.isImage() != (from != nil) })
	switch {
	case len(up.Wanted) == 0 && from != nil:
		return nil, errors.New("no pool fetches an image from the bastion; --from names a registry or an image layout")
	case len(up.Wanted) == 0:
		return nil, errors.New("no pool fetches a commit from the bastion; images come from docker://, docker://NAME or the folder of an image layout")
	case from != nil:
		return updateImages(ctx, m, filling{from: from, wanted: up.Wanted, out: out})
	}
	return updateCommits(ctx, m, up, out)
}

// checkFrom refuses a user and a password in an address. Its errors do not contain them.
func checkFrom(from string) error {
	scheme, rest, isURL := strings.Cut(from, "://")
	server, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(server, "@")
	switch {
	case !isURL || at < 0:
		return nil
	case scheme+"://" == registryScheme:
		return fmt.Errorf("--from has a user before %s; name the registry without it, and store the password with podman login or docker login", server[at+1:])
	}
	return fmt.Errorf("--from has a user before %s, which the configuration of the mirror and the list of processes would show; "+
		"fetch the commits with ostree and a remote of your own, then run holdfast mirror --from with the folder of that repository", server[at+1:])
}
