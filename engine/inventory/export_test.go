package inventory

import (
	_ "time/tzdata" // the machine that runs the tests may have no zone files

	"holdfast/engine/inventory/expression"
)

// LoadInPieces loads an inventory of any size as Load loads a large one.
func LoadInPieces(src Source) (Loaded, error) { return loadWithin(src, expression.DefaultBounds, 0) }

// LoadWhole loads an inventory of any size as Load loads a small one.
func LoadWhole(src Source) (Loaded, error) {
	return loadWithin(src, expression.DefaultBounds, expression.MaxSourceBytes*1000)
}

// PiecesOf returns how many host blocks of a file are parsed later, and the text of all pieces.
func PiecesOf(src string) (later int, texts []string) {
	for _, p := range splitHosts([]byte(src), "a.hcl") {
		later += p.blocks
		texts = append(texts, string(p.text))
	}
	return later, texts
}

// Update reports whether the tests must write the golden files.
func Update() bool { return *update }
