package inventory

import _ "time/tzdata" // the machine that runs the tests may have no zone files

// Update reports whether the tests must write the golden files.
func Update() bool { return *update }
