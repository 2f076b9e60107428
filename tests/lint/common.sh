# common.sh: sourced by the lint scripts, which run in the top folder of the tree and end with: exit "$status"
# shellcheck shell=bash disable=SC2034

# The tree's files, without what is built or installed. Takes find(1) tests, such as: tree_files -name '*.py'
tree_files() {
    find . \( -path ./build -o -path ./.git -o -name __pycache__ -o -name .pytest_cache -o -name node_modules \) -prune -o -type f "$@" -print
}

# findings WHY: shows what comes in, if anything does, and remembers it for the exit status, also at the end of a pipeline.
shopt -s lastpipe
status=0
findings() {
    local lines
    lines=$(cat)
    if [ -n "$lines" ]; then
        printf '%s:\n%s\n' "$1" "$lines"
        status=1
    fi
}
