package database

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The format of bbolt (page.go, meta.go and bucket.go in bbolt), little-endian: each page begins with its number (8
// bytes), its kind (2), its number of elements (2) and the number of overflow pages that follow the page (4). Then come
// elements of 16 bytes. An element has the position of its key, relative to the element.
const (
	headerSize  = 16
	elementSize = 16
	branchPage  = 1
	leafPage    = 2
	bucketFlag  = 1

	magic   = 0xED0CDAED
	version = 2
)

// Bounds of reading.
const (
	maxPageSize = 64 << 10
	maxRun      = 16 << 20 // bytes of one page with its overflow pages
	maxDepth    = 32       // pages from the root of a bucket to a leaf
)

// ErrFormat is the error for a file that is not a database.
var ErrFormat = errors.New("it is not a database of etcd")

var errNoBucket = errors.New("it has no bucket")

// pages reads the pages of one state of a database.
type pages struct {
	file io.ReaderAt
	size int64 // of a page
	end  int64 // of the file
	root uint64
	tx   uint64 // number of the last transaction
}

// element is one entry of a page. In a branch, it names the page below; in a leaf, it has a value or a bucket.
type element struct {
	key, value []byte
	page       uint64
	bucket     bool
}

// openPages finds the newer one of the two states of a database. Both states are within the first pages.
func openPages(file io.ReaderAt, size int64) (pages, error) {
	begin := make([]byte, max(0, min(size, 2*maxPageSize)))
	if _, err := file.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
		return pages{}, err
	}
	for pageSize := 512; pageSize <= maxPageSize; pageSize *= 2 {
		var best pages
		for _, offset := range []int{0, pageSize} {
			if p, ok := parseMeta(begin, offset); ok && p.size == int64(pageSize) && (best.size == 0 || p.tx > best.tx) {
				best = p
			}
		}
		if best.size != 0 {
			best.file, best.end = file, size
			return best, nil
		}
	}
	return pages{}, ErrFormat
}

func parseMeta(begin []byte, offset int) (pages, bool) {
	if len(begin) < offset+headerSize+64 {
		return pages{}, false
	}
	meta := begin[offset+headerSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(meta[:56]) // never fails
	if binary.LittleEndian.Uint32(meta) != magic || binary.LittleEndian.Uint32(meta[4:]) != version || binary.LittleEndian.Uint64(meta[56:]) != sum.Sum64() {
		return pages{}, false
	}
	return pages{
		size: int64(binary.LittleEndian.Uint32(meta[8:])),
		root: binary.LittleEndian.Uint64(meta[16:]), tx: binary.LittleEndian.Uint64(meta[48:]),
	}, true
}

func (p pages) readPage(number uint64) ([]byte, error) {
	if number > uint64(p.end/p.size) {
		return nil, fmt.Errorf("page %d is beyond its end", number)
	}
	offset := int64(number) * p.size
	page := make([]byte, p.size)
	if _, err := p.file.ReadAt(page, offset); err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	length := (int64(binary.LittleEndian.Uint32(page[12:])) + 1) * p.size
	switch {
	case binary.LittleEndian.Uint64(page) != number:
		return nil, fmt.Errorf("page %d has another number", number)
	case length > maxRun || offset+length > p.end:
		return nil, fmt.Errorf("page %d has %d bytes", number, length)
	case length == p.size:
		return page, nil
	}
	page = make([]byte, length)
	if _, err := p.file.ReadAt(page, offset); err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	return page, nil
}

func listElements(page []byte) ([]element, bool, error) {
	if len(page) < headerSize {
		return nil, false, errors.New("a page is too short")
	}
	kind, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	if kind != branchPage && kind != leafPage || len(page) < headerSize+count*elementSize {
		return nil, false, errors.New("a page is neither a branch nor a leaf")
	}
	list := make([]element, count)
	for i := range list {
		at := page[headerSize+i*elementSize:]
		number := func(offset int) uint64 { return uint64(binary.LittleEndian.Uint32(at[offset:])) }
		e, position, keySize, valueSize := element{}, number(0), number(4), uint64(0)
		if kind == branchPage {
			e.page = binary.LittleEndian.Uint64(at[8:])
		} else {
			e.bucket, position, keySize, valueSize = number(0)&bucketFlag != 0, number(4), number(8), number(12)
		}
		if position+keySize+valueSize > uint64(len(at)) {
			return nil, false, errors.New("an element is not in its page")
		}
		e.key, e.value = at[position:position+keySize], at[position+keySize:position+keySize+valueSize]
		list[i] = e
	}
	return list, kind == leafPage, nil
}

// findLeaf follows branches from a page down to a leaf. In each branch, it follows the element that choose returns. An
// empty branch has no leaf.
func (p pages) findLeaf(page []byte, choose func([]element) int) ([]element, error) {
	for range maxDepth {
		list, leaf, err := listElements(page)
		if err != nil || leaf || len(list) == 0 {
			return list, err
		}
		if page, err = p.readPage(list[choose(list)].page); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("its pages are in a circle")
}

// lastUpTo chooses the last element whose key is not greater than key.
func lastUpTo(key []byte) func([]element) int {
	return func(list []element) int {
		chosen := 0
		for i, e := range list {
			if bytes.Compare(e.key, key) <= 0 {
				chosen = i
			}
		}
		return chosen
	}
}

func (p pages) openBucket(name string) ([]byte, error) {
	root, err := p.readPage(p.root)
	if err != nil {
		return nil, err
	}
	leaf, err := p.findLeaf(root, lastUpTo([]byte(name)))
	if err != nil {
		return nil, err
	}
	for _, e := range leaf {
		if !e.bucket || string(e.key) != name || len(e.value) < headerSize {
			continue
		}
		if page := binary.LittleEndian.Uint64(e.value); page != 0 {
			return p.readPage(page)
		}
		return e.value[headerSize:], nil // the parent page contains a small bucket
	}
	return nil, fmt.Errorf("%w %q", errNoBucket, name)
}
