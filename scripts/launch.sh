# Runs a TypeScript program with Node 24, after its dependencies are installed and its pages are built:
#
#   sh scripts/launch.sh <file.ts> [arguments…]
#
# `install.js` prints which Node to use, and ends. Then the program replaces this shell, so no launcher stays in memory. The program
# gets the signals of npm itself, and its exit code is that of the command.
root=$(CDPATH='' cd -- "$(dirname "$0")/.." && pwd)
node=$(node "$root/scripts/install.js" "$@") || exit
# Node keeps compiled code here: a process then starts in less time and with 20 MB less memory.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$root/node_modules/.cache/compiled}"
exec "$node" "$root/$@"
