module github.com/modelpatch/modelpatch

go 1.26
