package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/config"
	"holdfast/engine/inventory"
	"holdfast/engine/report"
)

// configs reads the configurations of hosts. Hosts whose documents are the
// same share what was read.
type configs struct {
	site   inventory.Loaded
	fs     fs.FS
	fetch  func(config.Remote) ([]byte, error)
	read   *config.Cache
	groups map[string]*shared

	problems  []string // each once
	warnings  []string // each once
	documents map[config.Document]bool
}

// shared is what hosts with the same documents share.
type shared struct {
	loaded   config.Loaded
	compact  *engine.Config
	contents map[string][]byte
	broken   bool
}

func (a *app) newConfigs(ctx context.Context, site inventory.Loaded) *configs {
	c := &configs{site: site, fs: a.inputs().fs("/"), read: config.NewCache(), groups: map[string]*shared{}, documents: map[config.Document]bool{}}
	c.fetch = a.newFetcher(ctx, c.warn).fetch
	return c
}

func (c *configs) warn(text string) { c.warnings = once(c.warnings, text) }

func (c *configs) problem(text string) {
	c.problems = once(c.problems, report.HideSensitive(text, c.site.Sensitive))
}

func once(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// maxProblems is how many problems are shown: a mistake in a template is one of
// every host.
const maxProblems = 100

// err is everything that is wrong so far.
func (c *configs) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	shown := c.problems
	if more := len(shown) - maxProblems; more > 0 {
		shown = append(shown[:maxProblems:maxProblems], fmt.Sprintf("and %d more; correct these first", more))
	}
	return errors.New(strings.Join(shown, "\n"))
}

// desired gives every host's desired state, or an error with all that is wrong.
func (c *configs) desired() (map[string]engine.Desired, error) {
	desired := c.site.Inventory.Desired()
	for _, h := range c.site.Inventory.Hosts {
		d := desired[h.Name]
		if g := c.of(h); g != nil && !g.broken {
			d.Config, d.Contents = g.compact, g.contents
			d.OS = c.system(h, g)
		} else if g == nil {
			c.alone(h, d.OS)
			d.Config, d.NoDocuments = &engine.Config{}, true
		}
		desired[h.Name] = d
	}
	return desired, c.err()
}

// of reads the documents of a host; nil if it has none.
func (c *configs) of(h engine.Host) *shared {
	pool, _ := c.site.Inventory.Pool(h.Pool)
	if len(pool.Configs)+len(h.Configs) == 0 {
		return nil
	}
	image := ""
	if pool.OS != nil {
		image = pool.OS.Image
	}
	key := fmt.Sprintf("%q %q %q", image, named(pool.Configs, "pool "+pool.Name), named(h.Configs, "host "+h.Name))
	if c.groups[key] == nil {
		s := &sources{site: c.site, src: config.Source{FS: c.fs, Root: "/", OSImage: image, Texts: map[string]config.Text{}, Fetch: c.fetch, Cache: c.read, Known: c.site.Read}}
		s.add(pool.Configs, "pool "+pool.Name)
		s.add(h.Configs, "host "+h.Name)
		c.groups[key] = c.load(s)
	}
	return c.groups[key]
}

// named tells lists of sources apart. Only what stands in the inventory itself
// belongs to the pool or host it is in.
func named(list []engine.ConfigSource, of string) []string {
	var names []string
	for _, s := range list {
		if s.Name != "" {
			names = append(names, of)
		}
		names = append(names, s.Path, s.Name, s.Text)
	}
	return names
}

// sources gathers what engine/config is to read.
type sources struct {
	site    inventory.Loaded
	src     config.Source
	missing []string
}

func (s *sources) add(list []engine.ConfigSource, of string) {
	for _, c := range list {
		if c.Name != "" {
			name := fmt.Sprintf("config %q of %s", c.Name, of)
			s.src.Paths = append(s.src.Paths, name)
			s.src.Texts[name] = config.Text{Name: c.Name, Dir: s.site.Dir, Data: c.Text}
		} else if _, err := os.Stat(c.Path); errors.Is(err, os.ErrNotExist) {
			s.missing = append(s.missing, fmt.Sprintf("configs of %s: there is no %s; paths are relative to the file that names them", of, c.Path))
		} else {
			s.src.Paths = append(s.src.Paths, strings.TrimPrefix(c.Path, "/"))
		}
	}
}

// load reads the documents of a group, and notes what is wrong with them.
func (c *configs) load(s *sources) *shared {
	g := &shared{broken: len(s.missing) > 0}
	for _, m := range s.missing {
		c.problem(m)
	}
	if len(s.src.Paths) == 0 {
		return g
	}
	loaded, err := config.Load(s.src)
	var list config.Errors
	if errors.As(err, &list) {
		for _, p := range list {
			c.problem(p.String())
		}
	} else if err != nil {
		c.problem(err.Error())
	}
	for _, w := range loaded.Warnings {
		c.warn(w)
	}
	for _, d := range loaded.Documents {
		c.documents[d] = true
	}
	compact, contents := loaded.Config.Compact()
	g.broken = g.broken || err != nil
	g.loaded, g.compact, g.contents = loaded, &compact, contents
	return g
}
