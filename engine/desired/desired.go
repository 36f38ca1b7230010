package desired

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/config"
	"holdfast/engine/inventory"
	"holdfast/engine/report"
	"holdfast/engine/resource"
)

// Configs reads the configurations of hosts. Hosts with the same documents
// share the result.
type Configs struct {
	site   inventory.Loaded
	fs     fs.FS
	Fetch  func(config.Remote) ([]byte, error) // downloads contents
	read   *config.Cache
	groups map[string]*configGroup

	problems  []string                 // without duplicates
	Warnings  []string                 // without duplicates
	Documents map[config.Document]bool // documents that were read
}

// configGroup is the configuration of all hosts with the same documents.
type configGroup struct {
	loaded   config.Loaded
	compact  *resource.Config
	contents map[string][]byte
	broken   bool
}

// NewConfigs returns a reader of the configurations of a site. Its documents are
// files below the root of a file system.
func NewConfigs(site inventory.Loaded, root fs.FS) *Configs {
	return &Configs{site: site, fs: root, read: config.NewCache(), groups: map[string]*configGroup{}, Documents: map[config.Document]bool{}}
}

// AddWarning adds a warning unless Warnings has it already.
func (c *Configs) AddWarning(text string) { c.Warnings = appendOnce(c.Warnings, text) }

func (c *Configs) addProblem(text string) {
	c.problems = appendOnce(c.problems, report.HideSensitive(text, c.site.Sensitive))
}

func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// maxProblems limits how many problems are shown. A mistake in a template
// appears once per host.
const maxProblems = 100

func (c *Configs) joinProblems() error {
	if len(c.problems) == 0 {
		return nil
	}
	shown := c.problems
	if more := len(shown) - maxProblems; more > 0 {
		shown = append(shown[:maxProblems:maxProblems], fmt.Sprintf("and %d more; correct these first", more))
	}
	return errors.New(strings.Join(shown, "\n"))
}

// States returns the desired state of every host. Its error contains all
// problems of the documents.
func (c *Configs) States() (map[string]engine.Desired, error) {
	desired := c.site.Inventory.Desired()
	empty := &resource.Config{}
	for _, h := range c.site.Inventory.Hosts {
		d := desired[h.Name]
		if g := c.groupOf(h); g != nil && !g.broken {
			d.Config, d.Contents = g.compact, g.contents
			d.OS = c.desiredOS(h, g)
		} else if g == nil {
			c.requireBootcImage(h, d.OS)
			d.Config, d.NoDocuments = empty, true
		}
		desired[h.Name] = d
	}
	for _, p := range c.site.Inventory.Pools {
		c.checkRoles(p)
	}
	c.warnUnusedRoles()
	return desired, c.joinProblems()
}

func (c *Configs) groupOf(h engine.Host) *configGroup {
	pool, _ := c.site.Inventory.Pool(h.Pool)
	if len(pool.Configs)+len(h.Configs) == 0 {
		return nil
	}
	image := ""
	if pool.OS != nil {
		image = pool.OS.Image
	}
	own := c.ownFolders(h)
	key := fmt.Sprintf("%q %q %q %q %q", image, own, pool.ConfigRoles, sourceKey(pool.Configs, "pool "+pool.Name), sourceKey(h.Configs, "host "+h.Name))
	if c.groups[key] == nil {
		s := &sources{site: c.site, src: config.Source{FS: c.fs, Root: "/", Top: fileName(c.site.Dir), OSImage: image, Texts: map[string]config.Text{}, Fetch: c.Fetch, Cache: c.read, Known: c.site.Read, OwnFolders: own, Roles: pool.ConfigRoles}}
		s.addSources(pool.Configs, "pool "+pool.Name)
		s.addSources(h.Configs, "host "+h.Name)
		c.groups[key] = c.loadGroup(s)
	}
	return c.groups[key]
}

// ownFolders returns the folders that holdfast writes on a host because of its
// etcd cluster.
func (c *Configs) ownFolders(h engine.Host) []string {
	for _, cluster := range c.site.Inventory.Clusters {
		if cluster.Name == h.Cluster && cluster.Managed != nil && cluster.Managed.CA != nil {
			return []string{cluster.Managed.CA.Folder}
		}
	}
	return nil
}

// sourceKey includes the owner of a text in the inventory itself, because such a text belongs to one pool or host.
func sourceKey(list []engine.ConfigSource, of string) []string {
	var names []string
	for _, s := range list {
		if s.Name != "" {
			names = append(names, of)
		}
		names = append(names, s.Path, s.Name, s.Text)
	}
	return names
}

// sources collects the documents for engine/config.
type sources struct {
	site    inventory.Loaded
	src     config.Source
	missing []string
}

func (s *sources) addSources(list []engine.ConfigSource, of string) {
	for _, c := range list {
		if c.Name != "" {
			name := fmt.Sprintf("config %q of %s", c.Name, of)
			s.src.Paths = append(s.src.Paths, name)
			s.src.Texts[name] = config.Text{Name: c.Name, Dir: s.site.Dir, Data: c.Text}
		} else if _, err := os.Stat(c.Path); errors.Is(err, os.ErrNotExist) {
			s.missing = append(s.missing, fmt.Sprintf("%sconfigs of %s: there is no %s; paths are relative to the file that names them", s.positionOf(c.Path), of, c.Path))
		} else {
			s.src.Paths = append(s.src.Paths, fileName(c.Path))
		}
	}
}

// positionOf returns the position where the inventory names a document first, with ": " after it; "" if it is not known.
func (s *sources) positionOf(path string) string {
	i := slices.IndexFunc(s.site.Files, func(f inventory.File) bool { return f.Argument == "configs" && f.Path == path })
	if i < 0 {
		return ""
	}
	return s.site.Files[i].At + ": "
}

// fileName returns the name of an absolute path in the file system of /.
func fileName(p string) string { return cmp.Or(strings.TrimPrefix(path.Clean(p), "/"), ".") }

func (c *Configs) loadGroup(s *sources) *configGroup {
	g := &configGroup{broken: len(s.missing) > 0}
	for _, m := range s.missing {
		c.addProblem(m)
	}
	if len(s.src.Paths) == 0 {
		return g
	}
	loaded, err := config.Load(s.src)
	var list config.Errors
	if errors.As(err, &list) {
		for _, p := range list {
			c.addProblem(p.String())
		}
	} else if err != nil {
		c.addProblem(err.Error())
	}
	for _, w := range loaded.Warnings {
		c.AddWarning(w)
	}
	for _, d := range loaded.Documents {
		c.Documents[d] = true
	}
	compact, contents := loaded.Config.Compact()
	g.broken = g.broken || err != nil
	g.loaded, g.compact, g.contents = loaded, &compact, contents
	return g
}
