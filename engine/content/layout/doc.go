// Package layout reads and fills OCI image layouts: folders with oci-layout, index.json and blobs. It lists the blobs
// of an image, and checks that they exist and are undamaged. It reads and writes no file outside of the folder.
package layout
