// Nothing: the cheapest program that Node can run, which every start is measured against.
