package inventory

import _ "time/tzdata" // there may be no zone files where tests run

// Update says whether goldens are to be written.
func Update() bool { return *update }
