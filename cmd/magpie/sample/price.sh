#!/bin/sh
# price.sh N prints what N tickets cost, in yuan. Ten or more get 20 % off.
price=30
total=$(($1 * price))
if [ "$1" -gt 10 ]; then
  total=$((total * 80 / 100))
fi
echo "$total"
