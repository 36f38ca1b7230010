package config

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine"
)

// Source says where the documents of a host come from.
type Source struct {
	FS    fs.FS    // where Paths are; os.DirFS(".") for real files
	Root  string   // what FS stands for, put before names in messages; Butane's local files are read from the disk below it
	Paths []string // files, folders of documents, or names in Texts; what a later path says wins over earlier ones

	Texts map[string]Text // documents that are in no file, by the name that messages give them

	// Known are files that may lie beside documents: who names them reads them
	// otherwise, such as the templates of an inventory.
	Known []string

	// OSImage is what the host runs if no document says so: its registry is one
	// that pull secrets need an entry for.
	OSImage string

	// Fetch gets contents that are elsewhere; nil: they are refused. Its error
	// says in a few words what went wrong, without the address.
	Fetch func(Remote) ([]byte, error)

	// Cache keeps what was read of Paths for other Loads from the same FS, and
	// bounds what they read together.
	Cache *Cache
}

// Cache is documents by path, with what is wrong with them. It is for one
// goroutine.
type Cache struct {
	paths    map[string]*cachedDocuments // folders, and files that Source.Paths name
	files    map[string]*cachedDocuments
	contents contentStore
}

// NewCache returns a Cache that nothing was read into.
func NewCache() *Cache {
	return &Cache{paths: map[string]*cachedDocuments{}, files: map[string]*cachedDocuments{}, contents: contentStore{limits: defaultLimits}}
}

type cachedDocuments struct {
	docs     []*document
	problems problems
}

// Text is a document that is in no file.
type Text struct {
	Name string // as a file's, by which it is sorted
	Dir  string // folder that local files of a Butane document are in
	Data string
}

// Document is one document that was read.
type Document struct {
	Name string // by which it is sorted
	Role string // of a MachineConfig, or ""
	File string
}

// Loaded is a host's desired configuration and what goes with it.
type Loaded struct {
	Config    engine.Config
	Documents []Document // in the order in which they were merged
	Warnings  []string

	merged        types.Config
	contents      *contentStore
	settingPlaces map[string]engine.Place
}

// SettingPlace is where the documents have a setting of the system for the last time:
// osImageURL, baseOSExtensionsContainerImage, extensions, kernelType,
// kernelArguments or fips.
func (l Loaded) SettingPlace(setting string) engine.Place { return l.settingPlaces[setting] }

// Load reads documents, checks and merges them. Within each path documents
// are merged as the Machine Config Operator does. The error is an Errors with
// everything that is wrong.
func Load(src Source) (Loaded, error) {
	if src.Cache == nil {
		src.Cache = NewCache()
	}
	l := &loader{src: src}
	var docs []*document
	for _, p := range src.Paths {
		found := l.loadPath(p)
		orderDocuments(found)
		l.refuseRepeatedFiles(docs, found, p)
		docs = append(docs, found...)
	}
	if len(src.Paths) == 0 {
		l.problems.addError(engine.Place{}, "no document was named")
	}
	if err := l.problems.asError(); err != nil {
		return Loaded{}, err
	}
	b := &builder{docs: docs, merged: mergeIgnition(docs), spec: mergeSpecs(docs), places: locateEntries(docs), problems: &l.problems, contents: &src.Cache.contents, osImage: src.OSImage}
	checkMerged(b.merged, b.places, &l.problems)
	b.buildConfig()
	b.checkMergedContents()
	if err := l.problems.asError(); err != nil {
		return Loaded{}, err
	}
	loaded := Loaded{Config: b.out, Warnings: l.problems.warningTexts(), merged: b.provisioningConfig(), contents: b.contents, settingPlaces: b.settingPlaces()}
	for _, d := range docs {
		loaded.Documents = append(loaded.Documents, Document{Name: d.name, Role: d.role, File: d.file})
	}
	return loaded, nil
}

// loader reads the documents of a Source.
type loader struct {
	src      Source
	problems problems
}

// displayPath is a path as the operator knows it.
func (l *loader) displayPath(p string) string {
	if l.src.Root == "" {
		return p
	}
	return path.Join(l.src.Root, p)
}

// loadPath gives the documents of one path, which are read once.
func (l *loader) loadPath(p string) []*document {
	if t, ok := l.src.Texts[p]; ok {
		return l.readDocuments(t, p)
	}
	return l.readOnce(l.src.Cache.paths, p, (*loader).readPath)
}

// readOnce reads documents unless an earlier Load has, with what is wrong with
// them.
func (l *loader) readOnce(known map[string]*cachedDocuments, p string, read func(*loader, string) []*document) []*document {
	c := known[p]
	if c == nil {
		first := &loader{src: l.src}
		c = &cachedDocuments{docs: read(first, p)}
		c.problems = first.problems
		known[p] = c
	}
	l.problems.errors = append(l.problems.errors, c.problems.errors...)
	l.problems.warnings = append(l.problems.warnings, c.problems.warnings...)
	return slices.Clone(c.docs)
}

// readPath reads the documents of one path.
func (l *loader) readPath(p string) []*document {
	at := engine.Place{File: l.displayPath(p)}
	info, err := fs.Stat(l.src.FS, p)
	if err != nil {
		l.problems.addError(at, "cannot be read: %v", errorWithoutPath(err))
		return nil
	}
	files, others := []string{p}, []string(nil)
	if info.IsDir() {
		files, others = l.listFolder(p)
	}
	before := len(l.problems.errors)
	var docs []*document
	for _, f := range files {
		docs = append(docs, l.readOnce(l.src.Cache.files, f, (*loader).readFile)...)
	}
	if len(files) == 0 && len(l.problems.errors) == before {
		l.problems.addError(at, "has no document; put Butane (.bu), Ignition (.ign, .json) or MachineConfig (.yaml) there")
	}
	l.refuseSameNames(docs)
	for _, f := range others {
		if !slices.ContainsFunc(docs, func(d *document) bool { return d.butane && d.source.namesLocalFile(path.Base(f)) }) {
			l.problems.addWarning(engine.Place{File: l.displayPath(f)}, "is not read: its name does not end in %s, and no document takes it in with local", strings.Join(extensions, ", "))
		}
	}
	return docs
}

// extensions are the ends of names that documents have.
var extensions = []string{".bu", ".ign", ".json", ".yaml", ".yml"}

// listFolder lists the documents of a folder, and its other files. Folders in it
// are not read: they may hold the local files of Butane documents.
func (l *loader) listFolder(p string) (files, others []string) {
	list, err := fs.ReadDir(l.src.FS, p)
	if err != nil {
		l.problems.addError(engine.Place{File: l.displayPath(p)}, "cannot be read: %v", errorWithoutPath(err))
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

// refuseRepeatedFiles refuses a file that an earlier path has, too: what it appends would be
// there twice.
func (l *loader) refuseRepeatedFiles(before, found []*document, p string) {
	for _, d := range found {
		if slices.ContainsFunc(before, func(x *document) bool { return x.file == d.file }) {
			l.problems.addError(engine.Place{File: d.file}, "is read twice, the second time because of %s; take one out: what it appends would be there twice", l.displayPath(p))
		}
	}
}

// refuseSameNames refuses two documents of one name: which of them wins would be
// chance.
func (l *loader) refuseSameNames(docs []*document) {
	seen := map[string]*document{}
	for _, d := range docs {
		if other := seen[d.name]; other != nil {
			l.problems.addError(engine.Place{File: d.file, Line: d.source.line}, "has the name %s, as a document in %s has; rename one: documents are merged in the order of their names", shortenName(d.name), other.file)
		}
		seen[d.name] = d
	}
}

// errorWithoutPath is what is wrong with a file, without its name.
func errorWithoutPath(err error) error {
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // fs.FS gives it as it is
		return p.Err
	}
	return err
}
