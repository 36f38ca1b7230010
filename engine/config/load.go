package config

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// Source names the documents of a host.
type Source struct {
	FS    fs.FS    // contains Paths; os.DirFS(".") for files on disk
	Root  string   // directory of FS on disk: the prefix of paths in messages; Butane's local files are below it
	Paths []string // files, folders of documents, or names in Texts; later paths override earlier ones

	// Top is the folder of FS at which the search for Butane's local files ends.
	// A document that is not in it has only those of its own folder; "": all
	// documents.
	Top string

	Texts map[string]Text // documents that are not files; the key is an element of Paths, and appears in messages

	// Known lists other files in the folders of documents, such as the
	// templates of an inventory. They cause no warning.
	Known []string

	// OSImage is the OS image of the host unless a document sets one. Pull
	// secrets need an entry for its registry.
	OSImage string

	// OwnFolders are folders of the hosts that holdfast itself writes because of
	// the inventory.
	OwnFolders []string

	// Roles are the roles of the MachineConfigs in use; none: all. Documents
	// without a role are always used.
	Roles []string

	// Fetch fetches remote contents; nil refuses them. Its error is a short
	// cause without the address.
	Fetch func(Remote) ([]byte, error)

	// Cache keeps the documents of Paths for later calls of Load with the same
	// FS and Top, and limits their total size. nil: a new one for each call.
	Cache *Cache
}

// Cache holds parsed documents by path, with their problems. It is not safe
// for concurrent use.
type Cache struct {
	paths    map[string]*cachedDocuments // elements of Source.Paths
	files    map[string]*cachedDocuments
	contents contentStore
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	return &Cache{paths: map[string]*cachedDocuments{}, files: map[string]*cachedDocuments{}, contents: contentStore{limits: defaultLimits}}
}

type cachedDocuments struct {
	docs     []*document
	problems syntax.Problems
}

// Text is a document that is not in a file.
type Text struct {
	Name string // file name by which the document is sorted
	Dir  string // folder of the local files of a Butane document
	Data string
}

// Document describes one document that was read.
type Document struct {
	Name string // the key by which documents are sorted
	Role string // of a MachineConfig, or ""
	File string
}

// Loaded is the merged configuration of a host, with its documents and
// warnings.
type Loaded struct {
	Config    resource.Config
	Documents []Document // in merge order
	Roles     []RoleUse  // roles of the MachineConfigs in all paths, also of those that are not used
	Warnings  []string

	merged        types.Config
	contents      *contentStore
	settingPlaces map[string]resource.SourcePosition
}

// SettingPlace returns the place of the last document that has a setting:
// osImageURL, baseOSExtensionsContainerImage, extensions, kernelType,
// kernelArguments or fips.
func (l Loaded) SettingPlace(setting string) resource.SourcePosition { return l.settingPlaces[setting] }

// Load reads, checks and merges documents. Within each path it merges as the
// Machine Config Operator does. Its error is an Errors with all problems.
func Load(src Source) (Loaded, error) {
	if src.Cache == nil {
		src.Cache = NewCache()
	}
	l := &loader{src: src}
	defer func() { src.Cache.contents.values -= l.textValues }() // nothing keeps these documents
	var docs []*document
	var groups []documentGroup
	for _, p := range src.Paths {
		found := l.selectDocuments(l.withRoles(l.dropIgnored(l.loadPath(p), p), p))
		orderDocuments(found)
		l.warnMixedRoles(docs, found)
		l.refuseRepeatedFiles(docs, found, p)
		docs = append(docs, found...)
		groups = append(groups, newDocumentGroup(found))
	}
	if len(src.Paths) == 0 {
		l.problems.AddError(resource.SourcePosition{}, "no document is named; name a file or a folder of documents")
	}
	if len(l.problems.Errors) == 0 {
		docs = l.joinGroups(groups)
	}
	if err := l.problems.AsError(); err != nil {
		return Loaded{}, err
	}
	b := &builder{docs: docs, merged: mergeIgnition(docs), spec: mergeSpecs(docs), places: locateEntries(docs), problems: &l.problems, contents: &src.Cache.contents, osImage: src.OSImage}
	checkMerged(b.merged, b.places, &l.problems)
	b.refuseOwnFolders(src.OwnFolders)
	b.buildConfig()
	b.checkTree()
	b.checkReaders()
	b.checkMergedContents()
	if err := l.problems.AsError(); err != nil {
		return Loaded{}, err
	}
	loaded := Loaded{Config: b.out, Roles: l.roles, Warnings: l.problems.WarningTexts(), merged: b.provisioningConfig(), contents: b.contents, settingPlaces: b.settingPlaces()}
	for _, d := range docs {
		if d.parent != nil {
			continue
		}
		loaded.Documents = append(loaded.Documents, Document{Name: d.name, Role: d.role, File: d.file})
	}
	return loaded, nil
}

// loader reads the documents of a Source.
type loader struct {
	src        Source
	problems   syntax.Problems
	textValues int // number of values in documents that are not files
	roles      []RoleUse
}

func (l *loader) displayPath(p string) string {
	if l.src.Root == "" {
		return p
	}
	return path.Join(l.src.Root, p)
}

func (l *loader) loadPath(p string) []*document {
	if t, ok := l.src.Texts[p]; ok {
		return l.readDocuments(t, p)
	}
	return l.readOnce(l.src.Cache.paths, p, (*loader).readPath)
}

// readOnce calls read only if the cache has no documents for p. It always adds their problems to l.
func (l *loader) readOnce(cache map[string]*cachedDocuments, p string, read func(*loader, string) []*document) []*document {
	c := cache[p]
	if c == nil {
		first := &loader{src: l.src}
		c = &cachedDocuments{docs: read(first, p)}
		c.problems = first.problems
		cache[p] = c
	}
	l.problems.Errors = append(l.problems.Errors, c.problems.Errors...)
	l.problems.Warnings = append(l.problems.Warnings, c.problems.Warnings...)
	return slices.Clone(c.docs)
}

func (l *loader) readPath(p string) []*document {
	at := resource.SourcePosition{File: l.displayPath(p)}
	info, err := fs.Stat(l.src.FS, p)
	if err != nil {
		l.problems.AddError(at, "cannot be read: %v", textutil.ErrorWithoutPath(err))
		return nil
	}
	files, others := []string{p}, []string(nil)
	if info.IsDir() {
		files, others = l.listFolder(p)
	}
	before := len(l.problems.Errors)
	var docs []*document
	for _, f := range files {
		docs = append(docs, l.readOnce(l.src.Cache.files, f, (*loader).readFile)...)
	}
	if len(files) == 0 && len(l.problems.Errors) == before {
		l.problems.AddError(at, "has no document; put Butane (.bu), Ignition (.ign, .json) or MachineConfig (.yaml) there")
	}
	docs = withoutReferred(docs)
	l.refuseSameNames(docs)
	for _, f := range others {
		if !slices.ContainsFunc(docs, func(d *document) bool { return d.butane && d.source.NamesLocalFile(path.Base(f)) }) {
			l.problems.AddWarning(resource.SourcePosition{File: l.displayPath(f)}, "is ignored: its name does not end in %s, and no document uses it as a local file", strings.Join(extensions, ", "))
		}
	}
	return docs
}

// withoutReferred removes the documents that another one refers to with
// ignition.config: they come with that one.
func withoutReferred(docs []*document) []*document {
	referred := map[string]bool{}
	for _, d := range docs {
		if d.depth > 0 && d.reference.File == "" {
			referred[d.file] = true
		}
	}
	return slices.DeleteFunc(docs, func(d *document) bool { return d.depth == 0 && referred[d.file] })
}

// extensions lists the file extensions of documents.
var extensions = []string{".bu", ".ign", ".json", ".yaml", ".yml"}

// listFolder ignores subfolders, which may contain local files of Butane documents.
func (l *loader) listFolder(p string) (files, others []string) {
	list, err := fs.ReadDir(l.src.FS, p)
	if err != nil {
		l.problems.AddError(resource.SourcePosition{File: l.displayPath(p)}, "cannot be read: %v", textutil.ErrorWithoutPath(err))
		return nil, nil
	}
	for _, e := range list {
		name := path.Join(p, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), e.IsDir(), slices.Contains(l.src.Known, name):
		case slices.Contains(extensions, path.Ext(name)):
			files = append(files, name)
		default:
			others = append(others, name)
		}
	}
	return files, others
}

// refuseRepeatedFiles refuses a file that an earlier path contains too,
// because its appended contents would be added twice.
func (l *loader) refuseRepeatedFiles(before, found []*document, p string) {
	for _, d := range found {
		if slices.ContainsFunc(before, func(x *document) bool { return x.file == d.file && x.parent == nil && d.parent == nil }) {
			l.problems.AddError(resource.SourcePosition{File: d.file}, "is listed twice, the second time by %s; remove one: appended contents would be added twice", l.displayPath(p))
		}
	}
}

// refuseSameNames refuses two documents of one name: documents are merged in the order of their names, so the winner
// would be undefined.
func (l *loader) refuseSameNames(docs []*document) {
	seen := map[string]*document{}
	for _, d := range docs {
		if d.parent != nil || d.ignored != "" {
			continue
		}
		if other := seen[d.name]; other != nil {
			l.problems.AddError(resource.SourcePosition{File: d.file, Line: d.source.Line}, "has the same name %s as a document in %s; rename one: documents are merged in the order of their names", syntax.ShortenName(d.name), other.file)
		}
		seen[d.name] = d
	}
}

// Errors are all problems of the documents of a host.
type Errors = syntax.Errors
